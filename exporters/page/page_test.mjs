// The modules of the pages that need no browser, as bundled. `node --test page_test.mjs`
import assert from 'node:assert/strict';
import test from 'node:test';
import {
    betaQuantile, calledFramesOf, calleesOf, callersOf, changed, Colours, durationText, formatAmount, fragmentOf, frameAt, functionSums, inUnit, invertedOf, largestFrame,
    layOut, logTicksOf, makeTree, numberOf, outermostFrames, Profile, quantityText, restrictedTo, shadeOfCount, shareInterval, sourcesOf, stateOf, stepOf, studentQuantile, ticksOf, visitVisible,
} from './dist/modules.mjs';

const near = (value, expected, tolerance = 1e-9) => assert.ok(Math.abs(value - expected) <= tolerance, `${value}, not ${expected}`);

// root; a(b(a(c)), c), d  by functions a=0 b=1 c=2 d=3
const depth = Int32Array.from([0, 1, 2, 3, 4, 2, 1]);
const functions = Int32Array.from([-1, 0, 1, 0, 2, 2, 3]);
const self = Float64Array.from([0, 1, 2, 3, 4, 5, 6]);
const tree = () => makeTree(depth, functions, self);
const byNumber = (a, b) => a - b;

test('quantiles are those of published tables', () => {
    near(studentQuantile(0.025, 1), 12.7062047362, 1e-6);
    near(studentQuantile(0.025, 10), 2.2281388520, 1e-8);
    near(studentQuantile(0.025, 99), 1.9842169516, 1e-8);
    // Clopper and Pearson's interval of 2 of 10.
    near(betaQuantile(0.025, 2, 9), 0.0252107263, 1e-9);
    near(betaQuantile(0.975, 3, 8), 0.5560954623, 1e-9);
});

test('alike slices give no wider an interval than independent samples', () => {
    const interval = shareInterval([20, 20, 20, 20], [100, 100, 100, 100]);
    near(interval.share, 0.2);
    assert.equal(interval.effect, 1);
    const uneven = shareInterval([80, 0, 0, 0], [100, 100, 100, 100]);
    assert.ok(uneven.effect > 10 && uneven.low < interval.low && uneven.high > interval.high);
    assert.equal(shareInterval([5], [10]), null);
    const values = shareInterval([2], [10], 1, 0, 1, true);  // samples without times
    near(values.low, 0.0252107263, 1e-9);
    near(values.high, 0.5560954623, 1e-9);
    near(shareInterval([80, 0, 0, 0], [100, 100, 100, 100], 1, 0, 4, true).low, shareInterval([20, 20, 20, 20], [100, 100, 100, 100], 1, 0, 4, true).low, 1e-9);
    assert.deepEqual([shareInterval([0, 0], [10, 10]).low, shareInterval([10, 10], [10, 10]).high], [0, 1]);
});

test('totals are those of branches', () => {
    const made = tree();
    assert.deepEqual([...made.total], [21, 15, 9, 7, 4, 5, 6]);
    assert.deepEqual([...made.end], [7, 6, 5, 5, 5, 6, 7]);
    assert.deepEqual([...made.parent], [-1, 0, 1, 2, 3, 1, 0]);
});

test('a sample counts once for a function that calls itself', () => {
    const sums = functionSums(tree(), 4);
    assert.deepEqual([...sums.self], [4, 2, 9, 6]);
    assert.deepEqual([...sums.total], [15, 9, 9, 6]);
    assert.deepEqual(outermostFrames(tree(), 0), [1]);
});

test('a part of the tree has its own sums', () => {
    const made = tree();
    const sums = functionSums(made, 4, [2]);  // b(a(c)), within a
    assert.deepEqual([...sums.self], [3, 2, 4, 0]);
    assert.deepEqual([...sums.total], [7, 9, 4, 0]);
    assert.deepEqual(outermostFrames(made, 0, 2), [3]);
    assert.equal(largestFrame(made, made.total, 0), 1);
    assert.equal(largestFrame(made, made.total, 2), 5);
    assert.equal(largestFrame(made, made.total, 9), -1);
});

test('callers and callees have the total of their function', () => {
    for (let number = 0; number < 4; number++) {
        const total = functionSums(tree(), 4).total[number];
        assert.equal(callersOf(tree(), number, byNumber).total[0], total);
        assert.equal(calleesOf(tree(), number, byNumber).total[0], total);
    }
    const callers = callersOf(tree(), 2, byNumber);  // c is called by a (by b, by a), and by a
    assert.deepEqual([...callers.functions], [2, 0, 1, 0]);
    assert.deepEqual([...callers.total], [9, 9, 4, 4]);
});

test('an inverted tree has what each function spends itself', () => {
    const made = tree();
    const inverted = invertedOf(made, byNumber);
    assert.equal(inverted.total[0], made.total[0]);
    const sums = functionSums(made, 4);
    for (let i = 1; i < inverted.count; i++) {
        if (inverted.depth[i] === 1) {
            assert.equal(inverted.total[i], sums.self[inverted.functions[i]]);
        }
    }
    // a by itself and in b; b in a; c in a in b, and in a; d
    assert.deepEqual([...inverted.functions], [-1, 0, 1, 0, 1, 0, 2, 0, 1, 0, 3]);
    assert.deepEqual([...inverted.self], [0, 1, 0, 3, 0, 2, 0, 5, 0, 4, 6]);
});

test('a link says what isn\'t as at the beginning', () => {
    const atFirst = { view: 'flame', search: null, zoom: null };
    assert.equal(fragmentOf(changed(atFirst, atFirst)), '');
    const state = { view: 'sandwich', function: 'operator&=<"\u00fc">', search: 'a b#', zoom: 17 };
    const fragment = fragmentOf(changed(state, atFirst));
    assert.ok(/^[\x21-\x7e]*$/.test(fragment) && !/["<>#]/.test(fragment), fragment);
    assert.deepEqual(stateOf('#' + fragment), { view: 'sandwich', function: state.function, search: 'a b#', zoom: '17' });
    assert.deepEqual(stateOf('#view=icicle&what=1&zoom&search=%e0%'), { view: 'icicle', what: '1' });
    assert.equal(numberOf('17', 0, 20), 17);
    for (const bad of [undefined, '', '-1', '21', '1e1', '0x1', ' 1']) {
        assert.equal(numberOf(bad, 0, 20), null);
    }
});

test('siblings stand beside each other, by name or by size', () => {
    const made = tree();
    assert.deepEqual([...layOut(made, made.total, false)], [0, 0, 0, 0, 0, 9, 15]);
    const reversed = makeTree(Int32Array.from([0, 1, 1]), Int32Array.from([-1, 0, 1]), Float64Array.from([0, 1, 2]));
    assert.deepEqual([...layOut(reversed, reversed.total, true)], [0, 2, 0]);
});

test('the frame at a place is the one that is drawn there', () => {
    const made = tree();
    const left = layOut(made, made.total, false);
    const view = { from: 0, to: 21, width: 210, least: 0.5, firstDepth: 0, lastDepth: 9 };
    let drawn = 0;
    visitVisible(made, made.total, left, view, (frame, x, width) => {
        drawn++;
        assert.equal(frameAt(made, made.total, left, made.depth[frame], (x + width / 2) / 10), frame);
    });
    assert.equal(drawn, 7);
    assert.equal(frameAt(made, made.total, left, 3, 20), -1);
});

test('what is too narrow costs a step a branch', () => {
    const count = 100_000;
    const wide = makeTree(Int32Array.from({ length: count }, (_, i) => Math.min(i, 1 + (i - 1) % 50)), new Int32Array(count), new Float64Array(count).fill(1));
    const left = layOut(wide, wide.total, false);
    const visited = visitVisible(wide, wide.total, left, { from: 0, to: count, width: 1000, least: 0.6, firstDepth: 0, lastDepth: 60 }, () => {});
    assert.ok(visited < count / 40, `${visited} frames visited`);
});

test('cells are summed by slice', () => {
    const profile = new Profile({
        strings: ['sh', 'main', 'x'], functions: { name: [0, 1], image: [-1, 2] }, frames: { depth: [0, 1], function: [0, 1] },
        cells: { frame: [0, 1, 0], slice: [1, 0, 2], value: [5, 7, 9] }, slices: { start_ns: '1700000000000000000', width_ns: '1000000', count: 3 }, before: null,
    });
    assert.deepEqual([...profile.selfOf(0, 3)], [0, 5, 16]);
    assert.deepEqual([...profile.selfOf(1, 2)], [0, 5, 0]);
    assert.deepEqual([...profile.sliceTotals], [7, 5, 9]);
    assert.equal(profile.slices.startMs, 1_700_000_000_000);
    assert.ok(profile.isCommand(0) && !profile.isCommand(1));
});

test('axes of figures have round steps', () => {
    assert.deepEqual([stepOf(10, 8), stepOf(100, 8), stepOf(1, 4)], [2, 20, 0.5]);
    assert.deepEqual(ticksOf(-0.5, 3, 4), [0, 1, 2, 3]);
    assert.deepEqual(ticksOf(72, 157, 5), [80, 100, 120, 140]);
    assert.ok(Object.is(ticksOf(0, 10)[0], 0));
});

test('logarithmic axes have as many powers of ten as fit', () => {
    assert.deepEqual(logTicksOf(1, 100, 8), [1, 2, 5, 10, 20, 50, 100]);
    assert.deepEqual(logTicksOf(30, 40_000, 4), [100, 1_000, 10_000]);
    assert.deepEqual(logTicksOf(1, 1e12, 4), [1, 1e6, 1e12]);
    assert.deepEqual(logTicksOf(3, 4, 8), []);
});

test('quantities are told in the unit that suits them', () => {
    assert.deepEqual([quantityText(11_000_000, 'ns'), quantityText(0.5, 'us'), quantityText(2, 'ms', 5_000)], ['11 ms', '500 ns', '0.002 s']);
    assert.deepEqual([quantityText(3 * 1024 * 1024, 'bytes'), quantityText(512, 'bytes'), quantityText(12_500_000, 'cycles'), quantityText(7, '')], ['3 MiB', '512 bytes', '12.5 M cycles', '7']);
});

// Samples of functions f, g (inlined), of the kernel, of JIT code and of Python, below a command.
const colours = (image, value = [9, 9, 20, 1, 1]) => {
    const profile = new Profile({
        strings: ['sh', 'f', 'g (inlined)', 'k', 'j', 'p', image, '[kernel.kallsyms]', '[JIT]', '[python]'],
        functions: { name: [0, 1, 2, 3, 4, 5], image: [-1, 6, 6, 7, 8, 9] }, frames: { depth: [0, 1, 1, 1, 1, 1], function: [0, 1, 2, 3, 4, 5] },
        cells: { frame: [1, 1, 1, 1, 1], slice: [0, 0, 0, 0, 0], value }, slices: { start_ns: '0', width_ns: '1', count: 1 }, before: null,
    });
    return new Colours(profile, functionSums(makeTree(profile.frameDepth, profile.frameFunction, profile.selfOf(0, 1)), 6));
};

test('colours tell kinds and functions apart', () => {
    const made = colours('app');
    assert.deepEqual(made.kinds, ['', 'user', 'inlined', 'kernel', 'JIT', 'interpreted']);
    assert.equal(new Set([1, 2, 3, 4, 5].map((number) => made.of('kind', number, 0, false))).size, 5);
    assert.equal(made.of('function', 1, 0, false), colours('other').of('function', 1, 0, false));
    assert.notEqual(made.of('function', 1, 0, false), made.of('function', 2, 0, false));
    assert.notEqual(made.of('image', 1, 0, true), made.of('image', 1, 0, false));
    // Nearly all that isn't the kernel's is one image's.
    assert.equal(made.best(), 'function');
    assert.equal(colours('app', [9, 0, 20, 9, 9]).best(), 'image');
});

test('values keep all digits of their unit', () => {
    assert.equal(inUnit('18446744073709551615', 3), '18446744073709551.615');
    assert.deepEqual([inUnit('7', 3), inUnit('7000', 3), inUnit(42, 0)], ['0.007', '7', '42']);
    assert.deepEqual([durationText(1_500_000), durationText(0, 5e9), durationText(12_345_678, 12_345_678, 4)], ['1.5 ms', '0 s', '12.35 ms']);
    assert.deepEqual([formatAmount(1_501_967_621, 'ns'), formatAmount(1_234, 'samples')], ['1.50197 s', '1,234 samples']);
    assert.deepEqual([shadeOfCount(1, 1), shadeOfCount(1, 100), shadeOfCount(100, 100)], [1, 0, 1]);
});

test('frames of the inverted graph hold the own samples of their sources', () => {
    const made = tree();
    const inverted = invertedOf(made, byNumber);
    for (let frame = 0; frame < inverted.count; frame++) {
        const sources = sourcesOf(made, inverted, frame);
        assert.equal(sources.reduce((sum, i) => sum + made.self[i], 0), inverted.total[frame]);
        assert.ok(sources.length > 0);
    }
});

test('samples of an inverted frame have sums of their own', () => {
    const made = tree();
    const inverted = invertedOf(made, byNumber);
    const frame = inverted.functions.findIndex((number, i) => number === 0 && inverted.depth[i] === 2 && inverted.functions[inverted.parent[i]] === 2);  // c, called by a
    const part = restrictedTo(made, new Set(sourcesOf(made, inverted, frame)));
    const sums = functionSums(part, 4);
    assert.deepEqual([...sums.self], [0, 0, 9, 0]);
    assert.deepEqual([...sums.total], [9, 4, 9, 0]);
    assert.deepEqual([part.total[0], made.total[0]], [9, 21]);
});

test('frames of callees are found in the tree, with the sums of the merged ones', () => {
    const made = tree();
    for (let number = 0; number < 4; number++) {
        const callees = calleesOf(made, number, byNumber);
        const callers = callersOf(made, number, byNumber);
        for (let frame = 0; frame < callees.count; frame++) {
            const frames = calledFramesOf(made, callees, frame, callers, 0);
            assert.deepEqual(functionSums(made, 4, frames), functionSums(callees, 4, [frame]));
        }
        for (let caller = 0; caller < callers.count; caller++) {
            const frames = calledFramesOf(made, callees, 0, callers, caller);
            assert.equal(frames.reduce((sum, i) => sum + made.total[i], 0), callers.total[caller]);
        }
    }
});
