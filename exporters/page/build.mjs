// Makes the pages of src/ in dist/, which is committed: perfleet is built without Node.js and without a network.
//
//   node build.mjs            writes dist/
//   node build.mjs --check    exits with 1 where dist/ isn't what src/ gives
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));

const read = (name) => readFileSync(name, 'utf8');
const hashOf = (text, encoding) => createHash('sha256').update(text).digest(encoding);

async function bundle(entry, options = {}) {
    const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, minify: true, format: 'esm', target: 'es2022', charset: 'ascii', loader: { '.html': 'text' }, legalComments: 'none', ...options });
    return outputFiles[0].text;
}

// A page without its data. The Content-Security-Policy names the one script and the one style sheet: nothing else runs.
async function page(entry) {
    const [script, style] = [await bundle(entry), await bundle('src/style.css')];
    const parts = { SCRIPT_HASH: hashOf(script, 'base64'), STYLE_HASH: hashOf(style, 'base64'), SCRIPT: script, STYLE: style };
    const text = read('src/page.html').replace(/@(\w+)@/g, (whole, name) => parts[name] ?? whole);
    // As literals for C++, and as the text of an element for HTML.
    for (const [word, count] of [['@DATA@', 1], [')page"', 0], ['</script', 2], ['</style', 1]]) {
        if (text.split(word).length - 1 !== count) {
            throw new Error(`${entry}: ${word} is there ${text.split(word).length - 1} times, not ${count}`);
        }
    }
    return text;
}

const made = {
    'flame.html': await page('src/flame_page.ts'),
    'figure.html': await page('src/figure_page.ts'),
    'modules.mjs': await bundle('src/modules.ts', { minify: false }),  // for page_test.mjs
};
if (existsSync('src/app/main.ts')) {
    made['app.js'] = await bundle('src/app/main.ts');
    made['app.css'] = await bundle(existsSync('src/app/app.css') ? 'src/app/app.css' : 'src/style.css');
    made['index.html'] = read('src/app/index.html');
}
// For built_test.py: the files from which dist/ was made, and dist/ itself.
const sources = ['build.mjs', 'package-lock.json', 'tsconfig.json', ...readdirSync('src', { recursive: true }).map((name) => 'src/' + name).filter((name) => statSync(name).isFile())];
const digests = [...sources.map((name) => [name, read(name)]), ...Object.entries(made).map(([name, text]) => ['dist/' + name, text])];
made['SHA256SUMS'] = digests.map(([name, text]) => hashOf(text, 'hex') + '  ' + name).sort((a, b) => a.slice(66) < b.slice(66) ? -1 : 1).join('\n') + '\n';

if (process.argv.includes('--check')) {
    const stale = [...new Set([...Object.keys(made), ...readdirSync('dist')])].filter((name) => !existsSync('dist/' + name) || made[name] !== read('dist/' + name));
    for (const name of stale) {
        console.error(`exporters/page/dist/${name} isn't what the sources give: run npm run build in exporters/page`);
    }
    process.exit(stale.length === 0 ? 0 : 1);
}
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist');
for (const [name, text] of Object.entries(made)) {
    writeFileSync('dist/' + name, text);
}
