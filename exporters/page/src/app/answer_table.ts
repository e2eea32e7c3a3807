// An answer as a table, with its ledger and warnings.
import { make } from '../dom.js';
import { durationText, formatCount } from '../format.js';
import { type Column, Table } from '../table.js';
import { type Answer, type Cell, ledgerText } from './api.js';

export interface TableOptions {
    title: string;
    columns?: string[];  // in this order; none: all that have a value
    heads?: Record<string, string>;
    onPick?(row: number): void;  // by the first column
    sorted?: string;
    isAscending?: boolean;
    style?(row: number): string;
}

const kIdDigits = 8;  // of a session, as in the command line's tables

export function cellText(value: Cell, unit: string): string {
    if (typeof value !== 'number') {
        return value ?? '';
    }
    if (unit === 'ns') {
        return durationText(value, Math.abs(value), 4);
    }
    if (unit === 'percent') {
        return value.toFixed(2) + ' %';
    }
    return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)));
}

// `names`: of ledgers, where there are several.
export function showFooter(root: HTMLElement, answers: Pick<Answer, 'ledger' | 'warnings'>[], names: string[] = []): void {
    const footer = make('footer');
    const ledgers = make('section', 'ledger');
    const warnings = make('section', 'warnings');
    ledgers.setAttribute('aria-label', 'Ledger');
    warnings.setAttribute('aria-label', 'Warnings');
    ledgers.append(...answers.map(({ ledger }, i) => make('p', ledger.produced === ledger.stored ? '' : 'lost', (names[i] ? names[i] + ': ' : '') + ledgerText(ledger))));
    warnings.append(...[...new Set(answers.flatMap((answer) => answer.warnings))].map((text) => make('p', '', 'warning: ' + text)));
    footer.append(ledgers, warnings);
    root.append(footer);
}

const isShare = (value: Cell) => typeof value === 'number' && value >= 0 && value <= 100;

export function answerTable(root: HTMLElement, answer: Answer, options: TableOptions): void {
    if (answer.rows.length === 0) {
        root.append(make('p', 'hint', `${options.title}: there are none in the selection.`));
        return;
    }
    const section = make('section', 'list wide');
    section.setAttribute('aria-label', options.title);
    const shown = options.columns?.map((name) => answer.columns.findIndex((column) => column.name === name)).filter((place) => place >= 0)
        ?? [...answer.columns.keys()].filter((place) => answer.rows.some((row) => row[place] !== null && row[place] !== 0));
    const columns = shown.map((place, i): Column => {
        const { name, unit } = answer.columns[place];
        const isText = !answer.rows.some((row) => typeof row[place] === 'number');
        return {
            title: options.heads?.[name] ?? name.replaceAll('_', ' '),
            isText,
            isSorted: name === options.sorted,
            isPicked: i === 0 && options.onPick !== undefined,
            value: (row) => answer.rows[row][place] ?? (isText ? '' : options.isAscending ? Infinity : -Infinity),
            text: (row) => name === 'session' ? String(answer.rows[row][place] ?? '').slice(0, kIdDigits) : cellText(answer.rows[row][place], unit),
            style: options.style,
            share: unit === 'percent' && answer.rows.every((row) => row[place] === null || isShare(row[place])) ? (row) => Number(answer.rows[row][place]) / 100 : undefined,
        };
    });
    const isUp = options.isAscending ?? columns.find((column) => column.isSorted)?.isText === true;
    const table = new Table(section, options.title, columns, !isUp, (row) => options.onPick?.(row));
    table.show([...answer.rows.keys()], formatCount(answer.rows.length));
    root.append(section);
}
