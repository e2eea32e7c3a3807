// The table of functions: rows as they are sorted, some at a time; intervals are counted while nothing else is done.

const kRowsAtOnce = 100;

export class FunctionTable {
    // `columns`: {key, title, isText, isSorted, text(number), hint(number), value(number)}; `onPick(number)`.
    constructor(section, columns, onPick) {
        this.head = section.querySelector('thead tr');
        this.body = section.querySelector('tbody');
        this.more = document.getElementById('more');
        this.columns = columns;
        this.onPick = onPick;
        this.sorted = columns.find((column) => column.isSorted);
        this.isDown = true;
        this.numbers = [];
        this.more.addEventListener('click', () => this.addRows());
        for (const column of columns) {
            const cell = document.createElement('th');
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = column.title;
            button.addEventListener('click', () => {
                this.isDown = this.sorted === column ? !this.isDown : !column.isText;
                this.sorted = column;
                this.show(this.numbers);
            });
            cell.scope = 'col';
            cell.className = column.isText ? 'text' : '';
            cell.append(button);
            column.cell = cell;
            this.head.append(cell);
        }
    }

    show(numbers) {
        const sign = this.isDown ? -1 : 1;
        const { value, isText } = this.sorted;
        const keys = new Map(numbers.map((number) => [number, value(number)]));
        this.numbers = [...numbers].sort((a, b) => {
            const [first, second] = [keys.get(a), keys.get(b)];
            return sign * (isText ? (first < second ? -1 : first > second ? 1 : 0) : first - second) || a - b;
        });
        for (const column of this.columns) {
            column.cell.setAttribute('aria-sort', column !== this.sorted ? 'none' : this.isDown ? 'descending' : 'ascending');
        }
        this.body.replaceChildren();
        this.shown = 0;
        this.addRows();
    }

    addRows() {
        const end = Math.min(this.numbers.length, this.shown + kRowsAtOnce);
        const waiting = [];
        for (; this.shown < end; this.shown++) {
            const number = this.numbers[this.shown];
            const row = document.createElement('tr');
            row.dataset.number = number;
            for (const column of this.columns) {
                const cell = document.createElement('td');
                cell.textContent = column.text(number);
                cell.className = (column.isText ? 'text ' : '') + (column.style ? column.style(number) : '');
                if (column.isText) {
                    cell.title = cell.textContent;
                }
                if (column.isName) {
                    const button = document.createElement('button');
                    button.type = 'button';
                    button.textContent = cell.textContent;
                    button.addEventListener('click', () => this.onPick(number));
                    cell.replaceChildren(button);
                }
                if (column.hint) {
                    waiting.push([cell, column, number]);
                }
                row.append(cell);
            }
            this.body.append(row);
        }
        this.more.hidden = this.shown >= this.numbers.length;
        this.addHints(waiting, this.body.firstChild);
    }

    addHints(waiting, first) {
        const idle = window.requestIdleCallback || ((call) => setTimeout(() => call({ timeRemaining: () => 8 }), 20));
        idle((deadline) => {
            while (waiting.length && deadline.timeRemaining() > 1) {
                const [cell, column, number] = waiting.shift();
                cell.title = column.hint(number);
            }
            if (waiting.length && this.body.firstChild === first) {
                this.addHints(waiting, first);
            }
        });
    }

    mark(number) {
        for (const row of this.body.children) {
            row.classList.toggle('marked', Number(row.dataset.number) === number);
        }
    }
}
