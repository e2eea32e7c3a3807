// A table of numbered rows: sorted rows, a few at a time; hints are computed when the page is idle.
import { make, makeButton } from './dom.js';

const kRowsAtOnce = 100;

export interface Column {
    title: string;
    isText?: boolean;
    isSorted?: boolean;  // at first
    isPicked?: boolean;  // a button calls onPick(row)
    value(row: number): number | string;
    text(row: number): string;
    hint?(row: number): string;
    style?(row: number): string;
    share?(row: number): number | undefined;  // 0 to 1, drawn as a bar behind the text
}

type Waiting = [cell: HTMLElement, column: Column, row: number];

export class Table {
    private readonly title: HTMLElement;
    private readonly count = make('span', 'table-count');
    private readonly heads: HTMLTableCellElement[];
    private readonly body = make('tbody');
    private readonly more: HTMLButtonElement;
    private sorted: Column;
    private rows: number[] = [];
    private shown = 0;

    constructor(section: HTMLElement, title: string, private readonly columns: Column[], private isDown: boolean, private readonly onPick: (row: number) => void) {
        this.sorted = columns.find((column) => column.isSorted) ?? columns[0];
        this.more = makeButton('Show more', () => this.addRows());
        this.heads = columns.map((column) => {
            const cell = make('th', column.isText ? 'text' : '');
            cell.scope = 'col';
            cell.append(makeButton(column.title, () => {
                this.isDown = this.sorted === column ? !this.isDown : !column.isText;
                this.sorted = column;
                this.sort();
            }));
            return cell;
        });
        this.title = make('h2', '', title + ' ');
        this.title.append(this.count);
        const head = make('thead');
        const line = make('tr');
        line.append(...this.heads);
        head.append(line);
        const table = make('table');
        table.append(head, this.body);
        section.append(this.title, table, this.more);
    }

    show(rows: number[], count: string): void {
        this.rows = [...rows];
        this.count.textContent = count;
        this.sort();
    }

    private sort(): void {
        const sign = this.isDown ? -1 : 1;
        const { value } = this.sorted;
        const keys = new Map(this.rows.map((row) => [row, value(row)]));
        this.rows.sort((a, b) => {
            const [first, second] = [keys.get(a)!, keys.get(b)!];
            return sign * (first < second ? -1 : first > second ? 1 : 0) || a - b;
        });
        this.heads.forEach((cell, i) => cell.setAttribute('aria-sort', this.columns[i] !== this.sorted ? 'none' : this.isDown ? 'descending' : 'ascending'));
        this.body.replaceChildren();
        this.shown = 0;
        this.addRows();
    }

    private addRows(): void {
        const end = Math.min(this.rows.length, this.shown + kRowsAtOnce);
        const waiting: Waiting[] = [];
        for (; this.shown < end; this.shown++) {
            const row = this.rows[this.shown];
            const line = make('tr');
            line.dataset.row = String(row);
            for (const column of this.columns) {
                const cell = make('td', (column.isText ? 'text ' : '') + (column.style?.(row) ?? ''), column.text(row));
                if (column.isText) {
                    cell.title = cell.textContent;
                }
                const share = column.share?.(row);
                if (share !== undefined) {
                    cell.className += ' share';
                    cell.style.backgroundSize = `${100 * share}% 72%`;
                }
                if (column.isPicked) {
                    cell.replaceChildren(makeButton(cell.textContent, () => this.onPick(row)));
                }
                if (column.hint) {
                    waiting.push([cell, column, row]);
                }
                line.append(cell);
            }
            this.body.append(line);
        }
        this.more.hidden = this.shown >= this.rows.length;
        this.addHints(waiting, this.body.firstChild);
    }

    private addHints(waiting: Waiting[], first: ChildNode | null): void {
        const idle = window.requestIdleCallback ?? ((call: IdleRequestCallback) => setTimeout(() => call({ didTimeout: false, timeRemaining: () => 8 }), 20));
        idle((deadline) => {
            while (waiting.length && deadline.timeRemaining() > 1) {
                const [cell, column, row] = waiting.shift()!;
                cell.title = column.hint!(row);
            }
            if (waiting.length && this.body.firstChild === first) {
                this.addHints(waiting, first);
            }
        });
    }

    mark(row: number): void {
        for (const line of this.body.rows) {
            line.classList.toggle('marked', Number(line.dataset.row) === row);
        }
    }
}
