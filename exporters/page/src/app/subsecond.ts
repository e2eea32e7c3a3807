// Sub-second: CPU time by its place within each second; a window of it has a flame graph.
import type { FlameData } from '../data.js';
import { make, makeButton } from '../dom.js';
import { formatAmount } from '../format.js';
import { ask, askPage } from './api.js';
import { showFooter } from './answer_table.js';
import { chartPanel } from './chart_panel.js';
import { profileFiles, showFlame, timeOf } from './explore.js';
import { choiceField, paramsOf } from './selection.js';
import { SubsecondChart, subsecondData } from './subsecond_chart.js';
import type { Place, Tab } from './tab.js';

const kColumns = 300;
const kCells = ['5', '10', '20', '50', '100'];

async function showWindow(place: Place, root: HTMLElement, fromMs: number, untilMs: number): Promise<void> {
    const range = { from: timeOf(fromMs), until: timeOf(untilMs) };
    const params = { ...paramsOf(place.selection), ...range };
    const graph = await place.ask('flame graph of the window', (asking) => askPage<FlameData>('html', { ...params, title: `${((untilMs - fromMs)).toFixed(0)} ms from ${range.from}` }, asking));
    root.replaceChildren();
    place.offer('flamegraph', { ...params, output: 'flamegraph.html' }, profileFiles(params));
    const view = showFlame(place, root, graph, { view: 'icicle' }, () => {});
    view?.part('tools').append(makeButton('Explore this window', () => place.go({ tab: 'explore', selection: range, state: {} })));
}

export const subsecond: Tab = {
    name: 'subsecond',
    title: 'Sub-second',
    hint: 'When within each second the time went: patterns that sums hide',
    words: ['session', 'select', 'event', 'from', 'until', 'comm'],
    async open(place) {
        const cell = kCells.includes(place.state.cell) ? place.state.cell : '20';
        const params = { ...paramsOf(place.selection), cell, columns: String(kColumns) };
        place.offer('subsecond', params);
        const answer = await place.ask('map of seconds', (asking) => ask('subsecond', params, asking));
        const data = subsecondData(answer);
        const head = make('header', 'head');
        head.append(make('h1', 'title', 'Within each second'), make('p', 'subtitle', data === null ? 'no samples' : `${formatAmount(answer.measure?.total ?? 0, data.unit)} of ${answer.measure?.event}; ` + (data.columnNs === 1e9 ? 'drag over a window, or click a cell: its flame graph is below' : `a column is ${data.columnNs / 1e9} seconds together; drag or click to see these alone`)));
        head.append(choiceField('Cell', kCells.map((ms) => new Option(ms + ' ms', ms)), cell, (ms) => place.go({ state: { ...place.state, cell: ms } })));
        place.root.append(head);
        if (data === null) {
            showFooter(place.root, [answer]);
            return;
        }
        const below = make('div', 'below');
        const isExact = data.columnNs === 1e9;
        const note = (from: number, until: number) => {
            place.note({ ...place.state, at: `${timeOf(from)}..${timeOf(until)}` });
            void showWindow(place, below, from, until).catch(() => {});
        };
        const chart = chartPanel(place.root, 'Seconds to the right (UTC), the time within each upwards', 'map', place.signal, (container, host) => new SubsecondChart(container, host, data,
            (from, until) => isExact ? note(from, until) : place.go({ selection: { from: timeOf(from), until: timeOf(until) }, state: { cell } }), place.signal));
        below.append(make('p', 'hint', isExact ? 'No window is selected.' : 'Select fewer seconds for the flame graph of a window.'));
        place.root.append(below);
        showFooter(place.root, [answer]);
        const [from, until] = (place.state.at ?? '').split('..').map((text) => Date.parse(text));
        if (isExact && from < until) {
            chart.mark(from, until);
            await showWindow(place, below, from, until);
        }
    },
};
