// What the pages of flame graphs and of figures have alike: title, ledger, warnings, tip, keys, light and dark.

export const element = (id) => document.getElementById(id);

export function paragraph(text, style = '') {
    const made = document.createElement('p');
    made.textContent = text;
    made.className = style;
    return made;
}

// "1.5 ms", in the unit that `range` is best told in.
export function durationText(ns, range = ns, digits = 6) {
    const [unit, worth] = range >= 1e9 ? ['s', 1e9] : range >= 1e6 ? ['ms', 1e6] : range >= 1e3 ? ['us', 1e3] : ['ns', 1];
    return String(Number((ns / worth).toPrecision(digits))) + ' ' + unit;
}

export function formatCount(value) {
    return Math.round(value).toLocaleString('en-US');
}

// "12,345 samples", "1.5 s".
export function formatAmount(value, unit) {
    return unit === 'ns' ? durationText(value) : formatCount(value) + ' ' + unit;
}

// What packed_json() has packed.
export async function pageData() {
    if (typeof DecompressionStream === 'undefined') {
        element('title').textContent = 'This page needs a browser of 2023 or later, which can decompress its data.';
    }
    const bytes = Uint8Array.from(atob(element('data').textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).json();
}

export class BasePage {
    // A subclass has draw().
    constructor({ title, ledgers, warnings }) {
        document.title = title + ' - perfleet';
        element('title').textContent = title;
        element('ledger').replaceChildren(...ledgers.map((ledger) => paragraph(ledger.name + ': ' + ledger.text, ledger.is_whole ? '' : 'lost')));
        element('warnings').replaceChildren(...warnings.map((warning) => paragraph('warning: ' + warning)));
        const dark = matchMedia('(prefers-color-scheme: dark)');
        document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light';
        dark.addEventListener('change', () => this.setTheme(dark.matches));
        element('theme').addEventListener('click', () => this.setTheme(!this.isDark()));
        element('help-button').addEventListener('click', () => element('help').showModal());
    }

    isDark() {
        return document.documentElement.dataset.theme === 'dark';
    }

    setTheme(isDark) {
        document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
        this.draw();
    }

    hideTip() {
        element('tip').hidden = true;
    }

    // Beside the pointer.
    showTip(event, title, lines) {
        const tip = element('tip');
        const name = document.createElement('b');
        name.textContent = title;
        tip.hidden = false;
        tip.replaceChildren(name, ...lines.map((text) => paragraph(text)));
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - box.width - 8)) + 'px';
        tip.style.top = (event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + 'px';
    }

    // `acts`: functions by key, for keys that nothing else of the page takes.
    listenToKeys(acts) {
        const all = { d: () => this.setTheme(!this.isDark()), '?': () => element('help').showModal(), ...acts };
        document.addEventListener('keydown', (event) => {
            const isTaken = event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, dialog');
            if (!isTaken && Object.hasOwn(all, event.key)) {
                event.preventDefault();
                all[event.key]();
            }
        });
    }
}
