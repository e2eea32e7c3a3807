// The rows that the views show: the selection in the address, and the bar in which it is chosen.
import { make, makeButton } from '../dom.js';
import { type Answer, type Params, reader } from './api.js';

export const kSelectionWords = ['session', 'select', 'event', 'from', 'until', 'comm'] as const;
export type SelectionWord = typeof kSelectionWords[number];
export type Selection = Record<SelectionWord, string>;  // '': all

const kSessionsOffered = 200;
const kIdDigits = 8;
const kRanges: [value: string, name: string][] = [['', 'all time'], ['-5m', 'last 5 minutes'], ['-15m', 'last 15 minutes'], ['-1h', 'last hour'], ['-6h', 'last 6 hours'], ['-24h', 'last day'], ['-7d', 'last week']];

export interface Inventory {
    sessions: Answer;
    events: Answer;
    labels: Answer;
    targets: Answer;
}

export function emptySelection(): Selection {
    return { session: '', select: '', event: '', from: '', until: '', comm: '' };
}

export function selectionOf(params: URLSearchParams): Selection {
    return Object.fromEntries(kSelectionWords.map((word) => [word, params.get(word) ?? ''])) as Selection;
}

// The words that a query takes.
export function paramsOf(selection: Selection, words: readonly SelectionWord[] = kSelectionWords): Params {
    return Object.fromEntries(words.map((word) => [word, selection[word]]).filter(([, value]) => value !== ''));
}

function shellWord(text: string): string {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

// The command line with the same result.
export function commandLine(command: string, params: Params): string {
    const options = Object.entries(params).filter(([, value]) => value !== '').map(([name, value]) => ` --${name}` + (value === 'true' ? '' : (value.startsWith('-') ? '=' : ' ') + shellWord(value)));
    const isAll = !['session', 'select', 'from', 'until'].some((word) => params[word]);
    return `perfleet ${command}` + (isAll ? ' --all' : '') + options.join('');
}

// Times are UTC, as the command line's. "30 Nov, 12:56:59".
export function dayText(ms: number): string {
    return new Date(ms).toLocaleString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

export function clockText(ms: number): string {
    return new Date(ms).toLocaleTimeString('en-GB', { timeZone: 'UTC' });
}

// "a1b2c3d4 web-7, 30 Nov 12:56: cpu-clock".
function sessionName(of: ReturnType<typeof reader>, row: Answer['rows'][number]): string {
    const name = of(row, 'name');
    const start = Date.parse(String(of(row, 'start')));
    const when = Number.isNaN(start) ? '' : ', ' + dayText(start);
    const labels = of(row, 'labels');
    return `${name ?? String(of(row, 'session')).slice(0, kIdDigits)} ${of(row, 'target') ?? ''}${when}: ${of(row, 'events') ?? ''}${labels ? ` (${labels})` : ''}`;
}

export function sessionOptions(inventory: Inventory, chosen: string, all: string): HTMLOptionElement[] {
    const of = reader(inventory.sessions);
    const rows = [...inventory.sessions.rows].reverse().slice(0, kSessionsOffered);
    const options = [new Option(all, ''), ...rows.map((row) => new Option(sessionName(of, row), String(of(row, 'session'))))];
    if (chosen !== '' && !options.some((option) => option.value === chosen)) {
        options.push(new Option(chosen, chosen));
    }
    return options;
}

// '{version="2"}' of each label, for a list of suggestions.
export function matchers(inventory: Inventory): string[] {
    const of = reader(inventory.labels);
    return inventory.labels.rows.map((row) => `{${of(row, 'label')}=${JSON.stringify(of(row, 'value') ?? '')}}`);
}

function field(name: string, input: HTMLElement): HTMLLabelElement {
    const label = make('label', 'field-' + name.toLowerCase(), name + ' ');
    label.append(input);
    return label;
}

export function textField(name: string, value: string, placeholder: string, list: string, onChange: (text: string) => void): HTMLLabelElement {
    const input = make('input');
    Object.assign(input, { value, placeholder, spellcheck: false, autocomplete: 'off' });
    input.setAttribute('list', list);
    input.addEventListener('change', () => onChange(input.value.trim()));
    return field(name, input);
}

export function choiceField(name: string, options: HTMLOptionElement[], value: string, onChange: (value: string) => void): HTMLLabelElement {
    const select = make('select');
    select.append(...options);
    select.value = value;
    select.addEventListener('change', () => onChange(select.value));
    return field(name, select);
}

const kNarrowPixels = 820;

// The bar: fields for the words that the view uses. On a phone it is closed until it is opened.
export function selectionBar(inventory: Inventory, selection: Selection, words: readonly SelectionWord[], onChange: (part: Partial<Selection>) => void): HTMLElement {
    const bar = make('form', 'selection');
    bar.setAttribute('aria-label', 'Selection');
    bar.addEventListener('submit', (event) => event.preventDefault());
    const has = (word: SelectionWord) => words.includes(word);
    if (has('session')) {
        bar.append(choiceField('Session', sessionOptions(inventory, selection.session, `all ${inventory.sessions.rows.length}`), selection.session, (session) => onChange({ session })));
    }
    if (has('select')) {
        bar.append(textField('Labels', selection.select, '{label="value"}', 'matchers', (select) => onChange({ select })));
    }
    if (has('event')) {
        const of = reader(inventory.events);
        const names = inventory.events.rows.map((row) => String(of(row, 'event')));
        const known = selection.event === '' || names.includes(selection.event) ? names : [...names, selection.event];
        bar.append(choiceField('Event', [new Option('first', ''), ...known.map((name) => new Option(name, name))], selection.event, (event) => onChange({ event })));
    }
    if (has('from')) {
        const isOther = selection.until !== '' || !kRanges.some(([value]) => value === selection.from);
        const ranges = kRanges.map(([value, name]) => new Option(name, value));
        bar.append(
            choiceField('Time', isOther ? [...ranges, new Option('from … until', 'other')] : ranges, isOther ? 'other' : selection.from, (from) => onChange({ from, until: '' })),
            textField('from', selection.from, 'or -2h', '', (from) => onChange({ from })),
            textField('until', selection.until, 'or -1h', '', (until) => onChange({ until })));
    }
    if (has('comm')) {
        bar.append(textField('Command', selection.comm, 'all', '', (comm) => onChange({ comm })));
    }
    if (words.some((word) => selection[word] !== '')) {
        bar.append(makeButton('Clear', () => onChange(emptySelection())));
    }
    const whole = make('details', 'selection-bar');
    whole.open = window.innerWidth > kNarrowPixels;
    whole.append(make('summary', '', 'Selection: ' + (words.filter((word) => selection[word] !== '').map((word) => `${word} ${selection[word]}`).join(', ') || 'everything')), bar);
    return whole;
}
