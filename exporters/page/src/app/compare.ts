// Compare: two selections, with a verdict on each function; changes that may be noise are grey.
import type { FlameData } from '../data.js';
import { make, makeButton } from '../dom.js';
import { ask, askPage, type Answer, exportUrl, type Params, reader } from './api.js';
import { answerTable, cellText, showFooter } from './answer_table.js';
import { showFlame, timeOf } from './explore.js';
import { choiceField, paramsOf, sessionOptions, textField } from './selection.js';
import type { Place, Tab } from './tab.js';

const kSideWords = ['session', 'select', 'from', 'until'] as const;

// A side in the syntax of `diff` and `flamegraph --before`.
function sideText(side: Record<string, string>): string {
    const range = side.from || side.until ? `${side.from || ''}..${side.until || ''}` : '';
    return [side.session, side.select, range].filter((part) => part).join(' ');
}

function beforeOf(place: Place): Record<string, string> {
    return Object.fromEntries(kSideWords.map((word) => [word, place.state['before' + word] ?? '']));
}

function stateOf(place: Place, before: Record<string, string>): Record<string, string> {
    const own = Object.fromEntries(Object.entries(place.state).filter(([word]) => !word.startsWith('before')));
    return { ...own, ...Object.fromEntries(Object.entries(before).filter(([, value]) => value).map(([word, value]) => ['before' + word, value])) };
}

// Frequent comparisons: the session before, the time before, two values of a label.
function suggestions(place: Place): [name: string, before: Record<string, string>, after?: Record<string, string>][] {
    const { inventory, selection } = place;
    const list: [string, Record<string, string>, Record<string, string>?][] = [];
    const ofSession = reader(inventory.sessions);
    const ids = inventory.sessions.rows.map((row) => String(ofSession(row, 'session')));
    const here = selection.session === '' ? ids.length - 1 : ids.indexOf(selection.session);
    if (here > 0) {
        list.push(['the session before', { session: ids[here - 1] }, { session: ids[here] }]);
    }
    const [from, until] = [Date.parse(selection.from), Date.parse(selection.until)];
    if (from < until) {
        list.push(['the same length before', { from: timeOf(2 * from - until), until: selection.from }]);
    }
    const of = reader(inventory.labels);
    const values = new Map<string, string[]>();
    inventory.labels.rows.forEach((row) => values.set(String(of(row, 'label')), [...values.get(String(of(row, 'label'))) ?? [], String(of(row, 'value'))]));
    const matcher = (key: string, value: string) => ({ select: `{${key}=${JSON.stringify(value)}}`, session: '' });
    for (const [key, [first, ...more]] of values) {
        if (more.length > 0 && more.length < 8) {
            list.push([`${key} ${first} and ${more.at(-1)}`, matcher(key, first), matcher(key, more.at(-1)!)]);
        }
    }
    return list.slice(0, 6);
}

function showSides(place: Place, before: Record<string, string>): void {
    const form = make('form', 'selection sides');
    form.setAttribute('aria-label', 'Compared with');
    form.addEventListener('submit', (event) => event.preventDefault());
    const set = (part: Record<string, string>) => place.go({ state: stateOf(place, { ...before, ...part }) });
    form.append(make('b', '', 'Before:'),
        choiceField('Session', sessionOptions(place.inventory, before.session, 'as selected'), before.session, (session) => set({ session })),
        textField('Labels', before.select, '{label="value"}', 'matchers', (select) => set({ select })),
        textField('from', before.from, 'as selected', '', (from) => set({ from })), textField('until', before.until, '', '', (until) => set({ until })));
    const offered = suggestions(place);
    if (offered.length > 0) {
        form.append(make('span', 'hint', 'or'), ...offered.map(([name, side, after]) => makeButton(name, () => place.go({ selection: after, state: stateOf(place, side) }))));
    }
    place.root.append(form);
}

function verdictStyle(verdict: string): string {
    return verdict.startsWith('more') || verdict.startsWith('slower') ? 'more ' : verdict.startsWith('less') || verdict.startsWith('faster') ? 'less ' : 'noise ';
}

function showVerdicts(root: HTMLElement, diff: Answer): void {
    const of = reader(diff);
    const verdict = (row: number) => String(of(diff.rows[row], 'verdict') ?? '');
    // An interval must be readable at a glance.
    const shown: Answer = {
        ...diff,
        columns: [...diff.columns, { name: 'interval', unit: '' }],
        rows: diff.rows.map((row) => [...row, of(row, 'difference_low') === null ? null : `${cellText(of(row, 'difference_low'), String(of(row, 'unit')))} to ${cellText(of(row, 'difference_high'), String(of(row, 'unit')))}`]),
    };
    answerTable(root, shown, { title: 'Verdicts', columns: ['symbol', 'event', 'verdict', 'figure', 'unit', 'before', 'after', 'difference', 'interval', 'p_adjusted', 'image'], heads: { p_adjusted: 'p', interval: '95 % interval' }, sorted: 'p_adjusted', isAscending: true, style: (row) => verdictStyle(verdict(row)) });
}

export const compare: Tab = {
    name: 'compare',
    title: 'Compare',
    hint: 'What changed between two runs, times or versions, and what of it may be noise',
    words: ['session', 'select', 'event', 'from', 'until', 'comm'],
    async open(place) {
        const before = beforeOf(place);
        const text = sideText(before);
        showSides(place, before);
        if (text === '') {
            place.root.append(make('p', 'hint', 'Above is the later side. Choose what it is compared with: another session, labels, or a time.'));
            return;
        }
        const isTable = place.state.show === 'verdicts';
        const within: Params = place.state.within === 'true' ? { 'within-run': 'true' } : {};
        const common = paramsOf(place.selection, ['event', 'comm']);
        const after = sideText({ ...place.selection });
        const head = make('div', 'tools');
        head.append(choiceField('Show', [new Option('flame graph', ''), new Option('verdicts', 'verdicts')], place.state.show ?? '', (show) => place.go({ state: { ...place.state, show } })),
            choiceField('Runs', [new Option('are samples of all runs', ''), new Option('are all there is', 'true')], place.state.within ?? '', (choice) => place.go({ state: { ...place.state, within: choice } })));
        place.root.append(head);
        const question = { ...common, ...within, before: text, after: after || '{}' };
        if (isTable) {
            place.offer('diff', question);
            const diff = await place.ask('verdicts', (asking) => ask('diff', question, asking));
            showVerdicts(place.root, diff);
            showFooter(place.root, [diff]);
            return;
        }
        const params = { ...paramsOf(place.selection), before: text };
        place.offer('flamegraph', { ...params, output: 'change.html' }, [{ name: 'flame graph, one file', file: 'change.html', url: exportUrl('html', params) }]);
        const data = await place.ask('comparison', (asking) => askPage<FlameData>('html', { ...params, ...within }, asking));
        showFlame(place, place.root, data, place.state, (state) => place.note({ ...Object.fromEntries(Object.entries(place.state).filter(([word]) => word.startsWith('before') || word === 'show' || word === 'within')), ...state }));
    },
};

