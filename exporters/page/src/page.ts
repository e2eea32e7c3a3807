// A page of one view: its data, its address, light and dark, help.
import { make, makeButton, makeTerms } from './dom.js';
import { listenToKeys } from './keys.js';
import { fragmentOf, stateOf } from './link.js';
import { isDark, setTheme, startTheme } from './theme.js';
import type { State, View, ViewLink } from './view.js';

const kLinkDelayMs = 150;

// Unpacks data of packed_json().
async function unpack<Data>(): Promise<Data> {
    if (typeof DecompressionStream === 'undefined') {
        document.body.prepend('This page needs a browser of 2023 or later, which can decompress its data.');
    }
    const bytes = Uint8Array.from(atob(document.getElementById('data')!.textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).json() as Promise<Data>;
}

function makeHelp(view: View): HTMLDialogElement {
    const dialog = make('dialog');
    const list = make('dl');
    const form = make('form');
    dialog.setAttribute('aria-label', 'Keys');
    form.method = 'dialog';
    form.append(make('button', '', 'Close'));
    list.append(...makeTerms([...view.keys, ['l', 'copy a link to this view'], ['d', 'light or dark']]));
    dialog.append(make('h2', '', 'Keys'), list, form);
    return dialog;
}

// The address contains the state, so that it can be copied, and reloading changes nothing.
export async function showPage<Data>(mount: (root: HTMLElement, data: Data, link: ViewLink) => View): Promise<View> {
    startTheme();
    let state: State = stateOf(location.hash);
    let waiting = 0;
    const write = () => {
        clearTimeout(waiting);
        const fragment = fragmentOf(state);
        if ('#' + fragment !== (location.hash || '#')) {
            history.replaceState(null, '', fragment === '' ? location.pathname + location.search : '#' + fragment);
        }
    };
    const root = make('main');
    document.body.append(root);
    const view = mount(root, await unpack<Data>(), {
        state,
        onState: (next) => {
            state = next;
            clearTimeout(waiting);
            waiting = setTimeout(write, kLinkDelayMs);
        },
    });
    document.title = view.head.title + ' - perfleet';
    window.addEventListener('hashchange', () => view.follow(stateOf(location.hash)));

    const help = makeHelp(view);
    document.body.append(help);
    const acts = {
        l: () => {
            write();
            navigator.clipboard?.writeText(location.href).catch(() => {});
            view.part('live').textContent = 'link copied';
        },
        d: () => setTheme(!isDark()),
        '?': () => help.showModal(),
    };
    const tool = (text: string, title: string, key: keyof typeof acts) => {
        const button = makeButton(text, acts[key]);
        button.title = `${title} (${key})`;
        button.setAttribute('aria-label', title);
        view.part('tools').append(button);
    };
    tool('Link', 'copy a link to this view', 'l');
    tool('\u25d1', 'light or dark', 'd');
    tool('?', 'keys', '?');
    listenToKeys(acts, new AbortController().signal);
    return view;
}
