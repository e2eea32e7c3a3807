// The application: tabs over one selection. The address names them, so that it can be sent as a link.
import { make, makeButton, makeTerms } from '../dom.js';
import { listenToKeys } from '../keys.js';
import { isDark, setTheme, startTheme } from '../theme.js';
import type { State } from '../view.js';
import { ApiError, ask, download, type Params, reader, setToken } from './api.js';
import { compare } from './compare.js';
import { explore } from './explore.js';
import { fleet } from './fleet.js';
import { latency } from './latency.js';
import { losses } from './losses.js';
import { commandLine, emptySelection, type Inventory, kSelectionWords, matchers, type Selection, selectionBar, selectionOf } from './selection.js';
import { subsecond } from './subsecond.js';
import type { Download, Place, Tab } from './tab.js';
import { timeline } from './timeline.js';

const kTabs: readonly Tab[] = [fleet, explore, subsecond, compare, latency, timeline, losses];
const kSessionsMax = 10_000;  // the last ones
const kBusyAfterMs = 150;
const kSaidMs = 3000;
const kOfTheseRows = ['from', 'to', 'zoom', 'at', 'item'];  // words of a state that have no meaning for other rows

interface Address {
    tab: string;
    selection: Selection;
    state: State;
}

function addressOf(fragment: string): Address {
    const [path, query = ''] = fragment.replace(/^#?\/?/, '').split('?');
    const params = new URLSearchParams(query);
    const own = [...params].filter(([word]) => !(kSelectionWords as readonly string[]).includes(word)).map(([word, value]) => [word.replace(/^_/, ''), value]);
    return { tab: path, selection: selectionOf(params), state: Object.fromEntries(own) };
}

// Words of a tab that are words of the selection, too, have a _ before them.
function fragmentOf({ tab, selection, state }: Address): string {
    const params = new URLSearchParams([...Object.entries(selection).filter(([, value]) => value !== ''), ...Object.entries(state).filter(([, value]) => value !== '').map(([word, value]): [string, string] => [(kSelectionWords as readonly string[]).includes(word) ? '_' + word : word, value])]);
    return `#/${tab}` + (params.size === 0 ? '' : '?' + params.toString());
}

class App {
    private readonly nav = make('nav');
    private readonly bar = make('div');
    private readonly content = make('main', 'content');
    private readonly dialog = make('dialog');
    private readonly said = make('output');
    private readonly matcherList = make('datalist');
    private inventory: Inventory | undefined;
    private opened = new AbortController();
    private address: Address = { tab: '', selection: emptySelection(), state: {} };
    private command = '';
    private files: Download[] = [];

    constructor() {
        const root = make('div', 'app');
        this.matcherList.id = 'matchers';
        this.content.tabIndex = -1;
        root.append(this.nav, this.bar, this.content, this.dialog, this.matcherList);
        document.body.append(root);
        window.addEventListener('hashchange', () => void this.open(addressOf(location.hash)));
        const acts: Record<string, () => void> = {
            l: () => this.copy(location.href, 'link copied'),
            d: () => setTheme(!isDark()),
            r: () => void this.refresh(),
            '?': () => this.help(),
        };
        kTabs.forEach((tab, i) => acts[String(i + 1)] = () => this.go({ tab: tab.name, state: {} }));
        listenToKeys(acts, new AbortController().signal);
    }

    async start(): Promise<void> {
        await this.refresh();
    }

    // Reads the inventory again, and repeats the view's query.
    private async refresh(): Promise<void> {
        this.inventory = undefined;
        await this.open(addressOf(location.hash));
    }

    private async loadInventory(signal: AbortSignal): Promise<Inventory> {
        const asking = { signal };
        const [sessions, events, labels, targets] = await Promise.all([ask('sessions', { limit: String(kSessionsMax) }, asking), ask('events', {}, asking), ask('labels', {}, asking), ask('targets', {}, asking)]);
        this.matcherList.replaceChildren(...matchers({ sessions, events, labels, targets }).slice(0, 500).map((text) => new Option(text, text)));
        return { sessions, events, labels, targets };
    }

    // One host's page begins with its last recording, as the command line does; a fleet's with the fleet.
    private firstAddress({ sessions, events, targets }: Inventory): Address {
        const [ofSession, ofEvent] = [reader(sessions), reader(events)];
        const isProfiled = new Set(events.rows.map((row) => ofEvent(row, 'event')));
        const recording = [...sessions.rows].reverse().find((row) => String(ofSession(row, 'events') ?? '').split(',').some((event) => isProfiled.has(event)));
        const isFleet = targets.rows.length > 1;
        const tab = isFleet ? 'fleet' : recording === undefined ? 'losses' : 'explore';
        return { tab, selection: { ...emptySelection(), session: isFleet || recording === undefined ? '' : String(ofSession(recording, 'session')) }, state: {} };
    }

    private async open(address: Address): Promise<void> {
        this.opened.abort();
        const opened = this.opened = new AbortController();
        this.content.replaceChildren();
        try {
            this.inventory ??= await this.busy('what there is', opened, () => this.loadInventory(opened.signal));
            if (opened.signal.aborted) {
                return;
            }
            const isKnown = kTabs.some((tab) => tab.name === address.tab);
            this.address = isKnown ? address : this.firstAddress(this.inventory);
            if (!isKnown) {
                history.replaceState(null, '', fragmentOf(this.address));
            }
            const tab = kTabs.find((one) => one.name === this.address.tab)!;
            document.title = `${tab.title} - perfleet`;
            this.command = '';
            this.files = [];
            this.showNav();
            this.bar.replaceChildren(selectionBar(this.inventory, this.address.selection, tab.words, (part) => this.go({ selection: part })));
            await tab.open(this.placeOf(tab, opened));
        } catch (error) {
            if (!opened.signal.aborted) {
                this.fail(error);
            }
        }
    }

    private placeOf(tab: Tab, opened: AbortController): Place {
        const { selection, state } = this.address;
        const own = Object.fromEntries(kSelectionWords.map((word) => [word, tab.words.includes(word) ? selection[word] : ''])) as Selection;
        return {
            root: this.content,
            inventory: this.inventory!,
            selection: own,
            state,
            signal: opened.signal,
            ask: async (what, question) => {
                const answer = await this.busy(what, opened, (onProgress) => question({ signal: opened.signal, onProgress }));
                opened.signal.throwIfAborted();
                return answer;
            },
            note: (next) => {
                this.address = { ...this.address, state: next };
                history.replaceState(null, '', fragmentOf(this.address));
            },
            go: (to) => this.go(to),
            offer: (command, params, files) => this.offer(command, params, files),
        };
    }

    private go(to: { tab?: string; selection?: Partial<Selection>; state?: State }): void {
        const fragment = fragmentOf({ tab: to.tab ?? this.address.tab, selection: { ...this.address.selection, ...to.selection }, state: to.state ?? (to.selection ? keptState(this.address.state) : this.address.state) });
        if (fragment === location.hash) {
            void this.open(addressOf(fragment));
        } else {
            location.hash = fragment;  // opens it
        }
    }

    private offer(command: string, params: Params, files: Download[] = []): void {
        this.command = commandLine(command, params);
        const { output: _, ...asked } = params;
        const isTable = !['flamegraph', 'timeline'].includes(command);
        this.files = [...files, ...(isTable ? [{ name: 'this table, JSON', file: command + '.json', url: `/api/v1/query/${command}?${new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ''))}` }] : [])];
        this.showNav();
    }

    private showNav(): void {
        const { selection } = this.address;
        const links = kTabs.map((tab, i) => {
            const link = make('a', '', tab.title);
            link.href = fragmentOf({ tab: tab.name, selection, state: {} });
            link.title = `${tab.hint} (${i + 1})`;
            if (tab.name === this.address.tab) {
                link.setAttribute('aria-current', 'page');
            }
            return link;
        });
        const offers = make('div', 'offers');
        const button = (text: string, title: string, act: () => void) => {
            const made = makeButton(text, act);
            made.title = title;
            made.setAttribute('aria-label', title);
            return made;
        };
        const menu = make('select');
        menu.setAttribute('aria-label', 'Download');
        menu.append(new Option('Download…', ''), ...this.files.map(({ name }, i) => new Option(name, String(i))));
        menu.disabled = this.files.length === 0;
        menu.addEventListener('change', () => {
            const file = this.files[Number(menu.value)];
            menu.value = '';
            void download(file.file, file.url).catch((error: unknown) => this.fail(error));
        });
        offers.append(this.said, menu, button('>_', 'the command line that gives the same', () => this.showCommand()), button('Copy link', 'copy a link to this view (l)', () => this.copy(location.href, 'link copied')),
            button('\u27f3', 'ask again (r)', () => void this.refresh()), button('\u25d1', 'light or dark (d)', () => setTheme(!isDark())), button('?', 'keys (?)', () => this.help()));
        this.nav.replaceChildren(make('b', '', 'perfleet'), ...links, offers);
    }

    private showDialog(title: string, ...content: HTMLElement[]): void {
        const form = make('form');
        form.method = 'dialog';
        form.append(make('button', '', 'Close'));
        this.dialog.setAttribute('aria-label', title);
        this.dialog.replaceChildren(make('h2', '', title), ...content, form);
        if (!this.dialog.open) {
            this.dialog.showModal();
        }
    }

    private showCommand(): void {
        const text = make('code', 'command', this.command || 'perfleet');
        this.showDialog('On the command line', text, make('p', 'hint', 'with --data DIR or --gateway ENDPOINT, where the store isn\'t the default one'), makeButton('Copy', () => this.copy(this.command, 'copied')));
    }

    private help(): void {
        const list = make('dl');
        list.append(...makeTerms([...kTabs.map((tab, i): [string, string] => [String(i + 1), `${tab.title}: ${tab.hint}`]), ['l', 'copy a link to this view'], ['r', 'ask again'], ['d', 'light or dark'], ['arrow keys, Enter', 'walk and select in a chart'], ['/', 'search'], ['f i v s', 'layouts of a flame graph']]));
        this.showDialog('Keys', list);
    }

    private copy(text: string, said: string): void {
        navigator.clipboard?.writeText(text).catch(() => {});
        this.said.textContent = said;
        setTimeout(() => this.said.textContent = '', kSaidMs);
    }

    // A bar with the progress and a button to cancel, for answers that take longer than a moment.
    private async busy<Result>(what: string, opened: AbortController, question: (onProgress: (done: number, total: number) => void) => Promise<Result>): Promise<Result> {
        const bar = make('div', 'busy');
        const progress = make('progress');
        const text = make('span', '', `Reading: ${what}`);
        bar.setAttribute('role', 'status');
        bar.append(progress, text, makeButton('Cancel', () => {
            opened.abort();
            this.content.replaceChildren(make('p', 'hint', `Cancelled: ${what}. Select less, or ask again (r).`));
        }));
        const timer = setTimeout(() => this.content.append(bar), kBusyAfterMs);
        try {
            return await question((done, total) => {
                if (total > 0) {
                    progress.value = done / total;
                    text.textContent = `Reading: ${what}, ${Math.floor(100 * done / total)} %`;
                }
            });
        } finally {
            clearTimeout(timer);
            bar.remove();
        }
    }

    private fail(error: unknown): void {
        if (error instanceof ApiError && error.needsToken) {
            this.askForToken(error.message);
            return;
        }
        const box = make('p', 'failed', error instanceof Error ? error.message : String(error));
        box.setAttribute('role', 'alert');
        this.content.replaceChildren(box, makeButton('Ask again', () => void this.refresh()));
        if (!(error instanceof ApiError)) {
            console.error(error);
        }
    }

    private askForToken(why: string): void {
        const form = make('form', 'failed');
        const input = make('input');
        Object.assign(input, { type: 'password', autocomplete: 'current-password', placeholder: 'perfleet_…' });
        input.setAttribute('aria-label', 'Token');
        const button = make('button', '', 'Read');
        form.append(make('p', '', `${why}: paste one with the role read (perfleet keygen --token). It is kept until this tab is closed.`), input, button);
        form.addEventListener('submit', (event) => {
            event.preventDefault();
            setToken(input.value.trim());
            void this.refresh();
        });
        this.content.replaceChildren(form);
        input.focus();
    }
}

function keptState(state: State): State {
    return Object.fromEntries(Object.entries(state).filter(([word]) => !kOfTheseRows.includes(word)));
}

startTheme();
await new App().start();
