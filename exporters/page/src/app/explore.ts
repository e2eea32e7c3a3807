// Explore: the profile of the selection as a flame graph, with its callers, functions and time.
import type { FlameData } from '../data.js';
import { make, makeButton } from '../dom.js';
import { FlameView } from '../flame_view.js';
import type { State } from '../view.js';
import { askPage, exportUrl, type Params } from './api.js';
import { paramsOf } from './selection.js';
import type { Download, Place, Tab } from './tab.js';

const kFormats: [format: string, file: string, name: string][] = [
    ['html', 'flamegraph.html', 'flame graph, one file'], ['perf.data', 'perf.data', 'perf.data'], ['pprof', 'profile.pb.gz', 'pprof'],
    ['firefox', 'profile.json.gz', 'Firefox Profiler'], ['speedscope', 'profile.speedscope.json', 'speedscope'], ['folded', 'stacks.folded', 'folded stacks'],
    ['perfetto', 'trace.perfetto-trace', 'Perfetto trace']];

export function profileFiles(params: Params): Download[] {
    return kFormats.map(([format, file, name]) => ({ name, file, url: exportUrl(format, params) }));
}

export function timeOf(ms: number): string {
    return new Date(Math.floor(ms)).toISOString().replace('Z', String(Math.round(ms % 1 * 1e6)).padStart(6, '0') + 'Z');
}

// The time of slices [from, to) of a graph.
function timesOf({ slices }: FlameData, from: number, to: number): [fromMs: number, untilMs: number] {
    const at = (slice: number) => Number((BigInt(slices.start_ns) + BigInt(slice) * BigInt(slices.width_ns)) / 1000n) / 1000;
    return [at(from), at(to)];
}

// The text that replaces missing samples.
function showNothing(place: Place, root: HTMLElement, data: FlameData): void {
    const hint = make('p', 'hint', 'No samples are in the selection. Other rows are in ');
    hint.append(...['latency', 'timeline', 'losses'].map((tab) => makeButton(tab === 'losses' ? 'the ledger' : tab, () => place.go({ tab, state: {} }))));
    const warnings = make('section', 'warnings');
    warnings.append(...data.warnings.map((text) => make('p', '', 'warning: ' + text)));
    root.append(hint, warnings);
}

// A flame graph that ends with `place`; `noted` gets each new state.
export function showFlame(place: Place, root: HTMLElement, data: FlameData, state: State, noted: (state: State) => void): FlameView | null {
    if (data.frames.depth.length === 0) {
        showNothing(place, root, data);
        return null;
    }
    let last = state;
    const narrow = makeButton('Only this time', () => {
        const [from, until] = timesOf(data, Number(last.from), Number(last.to));
        place.go({ selection: { from: timeOf(from), until: timeOf(until) }, state: {} });
    });
    const showNarrow = () => narrow.hidden = last.from === undefined || last.to === undefined;
    const view = new FlameView(root, data, {
        state,
        onState: (next) => {
            last = next;
            showNarrow();
            noted(next);
        },
    });
    narrow.title = 'Ask again for the selected part of the time alone, in finer slices';
    showNarrow();
    view.part('tools').append(narrow);
    place.signal.addEventListener('abort', () => view.destroy());
    Object.assign(window, { page: view });  // for tests
    return view;
}

export const explore: Tab = {
    name: 'explore',
    title: 'Explore',
    hint: 'Where the time went: flame graph, callers and callees, functions',
    words: ['session', 'select', 'event', 'from', 'until', 'comm'],
    async open(place) {
        const params = paramsOf(place.selection);
        place.offer('flamegraph', { ...params, output: 'flamegraph.html' }, profileFiles(params));
        const data = await place.ask('flame graph', (asking) => askPage<FlameData>('html', params, asking));
        showFlame(place, place.root, data, place.state, (state) => place.note(state));
    },
};
