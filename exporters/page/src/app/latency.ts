// Latency: the timed operations, their distribution, its change over time, and the stacks of the slowest.
import type { FlameData, HeatMapData, HistogramData } from '../data.js';
import { make, makeButton } from '../dom.js';
import { HeatMapView, HistogramView } from '../figure_view.js';
import { ledgerText, ask, type Answer, askPage, type Cell, type Params, reader } from './api.js';
import { answerTable, cellText, showFooter } from './answer_table.js';
import { showFlame } from './explore.js';
import { choiceField, paramsOf } from './selection.js';
import type { Place, Tab } from './tab.js';

const kWithIntervals = ['median', 'p95', 'p99'];
const kShapes = ['log2', 'linear', 'cumulative'] as const;

function headOf(answer: Answer, summary: Answer, what: string) {
    const of = reader(summary);
    const row = summary.rows[0] ?? [];
    const unit = answer.columns.find((column) => column.name === 'from')?.unit ?? '';
    const parts = /^0\.(0*1) (.+)$/.exec(unit);  // "0.001 us" (query-engine/statistic/answer/value_unit.h)
    const [shown, decimals] = parts ? [parts[2], parts[1].length] : [unit, 0];
    const names = ['count', 'min', 'median', 'mean', 'sd', 'p90', 'p95', 'p99', 'max'];
    const text = (name: string) => {
        const column = summary.columns.find((one) => one.name === name);
        const [low, high] = [of(row, name + '_low'), of(row, name + '_high')];
        return cellText(of(row, name), column?.unit ?? '') + (low === null || high === null ? '' : ` [${cellText(low, column?.unit ?? '')}, ${cellText(high, column?.unit ?? '')}]`);
    };
    return {
        title: String(of(row, 'event') ?? 'latency'),
        subtitle: `${what}, ${String(of(row, 'target') ?? '')}, session ${String(of(row, 'session') ?? '').slice(0, 8)}`,
        unit: shown,
        decimals,
        figures: names.filter((name) => of(row, name) !== null).map((name): [string, string] => [name, text(name)]),
        ledgers: [{ name: 'rows', text: ledgerText(answer.ledger), is_whole: answer.ledger.produced === answer.ledger.stored }],
        warnings: [...new Set([...answer.warnings, ...summary.warnings])],
    };
}

const texts = (rows: Cell[][], place: number) => rows.map((row) => String(row[place]));

function histogramOf(answer: Answer, summary: Answer, shape: typeof kShapes[number]): HistogramData {
    const head = headOf(answer, summary, 'histogram');
    const of = reader(summary);
    const marks = kWithIntervals.map((name): [string, number] => [name, Number(of(summary.rows[0] ?? [], name) ?? NaN) * 10 ** head.decimals]).filter(([, value]) => !Number.isNaN(value));
    return { ...head, kind: 'histogram', histogram: { shape, from: texts(answer.rows, 0), to: texts(answer.rows, 1), count: texts(answer.rows, 2), marks, log2: null } };
}

function heatMapOf(answer: Answer, summary: Answer): HeatMapData {
    const parts = (low: number, high: number) => {
        const known = new Map(answer.rows.map((row) => [`${row[low]} ${row[high]}`, [Number(row[low]), Number(row[high])]]));
        const sorted = [...known].sort(([, a], [, b]) => a[0] - b[0]);
        return { numbers: new Map(sorted.map(([key], i) => [key, i])), low: sorted.map(([, [value]]) => String(value)), high: sorted.map(([, [, value]]) => String(value)) };
    };
    const [times, steps] = [parts(1, 2), parts(3, 4)];
    const size = (i: number) => Number(steps.high[i]) - Number(steps.low[i]);
    const last = steps.low.length - 1;
    return {
        ...headOf(answer, summary, 'over time'), kind: 'heat map',
        heat_map: {
            begin: String(answer.rows[0]?.[0] ?? ''), times, steps, has_rest: last > 0 && size(last) !== size(0),
            cells: { time: answer.rows.map((row) => times.numbers.get(`${row[1]} ${row[2]}`)!), step: answer.rows.map((row) => steps.numbers.get(`${row[3]} ${row[4]}`)!), count: texts(answer.rows, 5) },
        },
    };
}

async function showOne(place: Place, params: Params): Promise<void> {
    const { show = 'log2', event } = place.state;
    const go = (state: Record<string, string>) => place.go({ state: { ...place.state, ...state } });
    const head = make('div', 'tools');
    head.append(makeButton('All latencies', () => place.go({ state: {} })),
        choiceField('Show', [...kShapes.map((shape) => new Option(shape + ' histogram', shape)), new Option('over time', 'time'), new Option('stacks of the slowest', 'slowest')], show, (choice) => go({ show: choice })));
    place.root.append(head);
    if (show === 'slowest') {
        const rest = Object.fromEntries(Object.entries(params).filter(([word]) => word !== 'event'));
        const asked = { ...rest, slowest: '5%', of: event };
        place.offer('flamegraph', { ...asked, output: 'slowest.html' });
        const data = await place.ask('stacks of the slowest', (asking) => askPage<FlameData>('html', asked, asking));
        showFlame(place, place.root, data, {}, () => {});
        return;
    }
    const summary = await place.ask(event, (asking) => ask('latency', { ...params, event }, asking));
    const asked: Params = { ...params, event, ...(show === 'time' ? { 'heat-map': 'true' } : { histogram: show }) };
    place.offer('latency', asked);
    const answer = await place.ask(event, (asking) => ask('latency', asked, asking));
    const link = { state: {}, onState: () => {} };
    const view = show === 'time' ? new HeatMapView(place.root, heatMapOf(answer, summary), link) : new HistogramView(place.root, histogramOf(answer, summary, show as typeof kShapes[number]), link);
    place.signal.addEventListener('abort', () => view.destroy());
}

// Adds a column of the interval behind each of these.
function withIntervals(answer: Answer, names: string[]): Answer {
    const of = reader(answer);
    const unit = (name: string) => answer.columns.find((column) => column.name === name)?.unit ?? '';
    const interval = (row: Cell[], name: string) => of(row, name + '_low') === null ? null : `${cellText(of(row, name + '_low'), unit(name))} to ${cellText(of(row, name + '_high'), unit(name))}`;
    return { ...answer, columns: [...answer.columns, ...names.map((name) => ({ name: name + ' 95 %', unit: '' }))], rows: answer.rows.map((row) => [...row, ...names.map((name) => interval(row, name))]) };
}

export const latency: Tab = {
    name: 'latency',
    title: 'Latency',
    hint: 'How long operations took: distributions with intervals, and the stacks of the slowest',
    words: ['session', 'select', 'from', 'until'],
    async open(place) {
        const params = paramsOf(place.selection, ['session', 'select', 'from', 'until']);
        if (place.state.event) {
            const session = place.state.of;
            return showOne(place, session ? { ...params, session } : params);
        }
        place.offer('latency', params);
        const answer = await place.ask('latencies', (asking) => ask('latency', params, asking));
        const of = reader(answer);
        if (answer.rows.length === 0) {
            place.root.append(make('p', 'hint', 'No latencies are in the selection. They come from perfleet latency --function, from probes in programs, and from perfleet import.'));
        } else {
            const shown = withIntervals(answer, kWithIntervals);
            answerTable(place.root, shown, {
                title: 'Latencies', columns: ['event', 'target', 'session', 'count', 'min', ...kWithIntervals.flatMap((name) => [name, name + ' 95 %']), 'max', 'status'], sorted: 'count',
                onPick: (row) => place.go({ state: { event: String(of(answer.rows[row], 'event')), of: String(of(answer.rows[row], 'session')) } }),
            });
        }
        showFooter(place.root, [answer]);
    },
};
