// Seconds to the right, the time within each upwards; two cells make a window of time.
import { Chart, type ChartHost, type ChartTable } from '../chart.js';
import { formatAmount, formatNumber } from '../format.js';
import { isDark } from '../theme.js';
import { type Answer, reader } from './api.js';
import { clockText } from './selection.js';

const kEdge = { left: 62, right: 12, top: 8, bottom: 26 };
const kSecondNs = 1e9;
const kShades = 24;

export interface SubsecondData {
    startMs: number;  // a full second
    columnNs: number;
    cellNs: number;
    columns: number;
    cells: number;  // of a column
    amounts: Float64Array;  // by column, then cell
    unit: string;
}

export function subsecondData(answer: Answer): SubsecondData | null {
    const of = reader(answer);
    const number = (row: Answer['rows'][number], name: string) => Number(of(row, name));
    const [first] = answer.rows;
    if (first === undefined) {
        return null;
    }
    const columnNs = number(first, 'end') - number(first, 'begin');
    const cellNs = number(first, 'to') - number(first, 'from') + 1;
    const columns = Math.round(number(answer.rows.at(-1)!, 'end') / columnNs);
    const cells = Math.round(kSecondNs / cellNs);
    const amounts = new Float64Array(columns * cells);
    for (const row of answer.rows) {
        amounts[Math.round(number(row, 'begin') / columnNs) * cells + Math.round(number(row, 'from') / cellNs)] = number(row, 'amount');
    }
    const startMs = Date.parse(String(of(first, 'time'))) - number(first, 'begin') / 1e6;
    return { startMs, columnNs, cellNs, columns, cells, amounts, unit: answer.measure?.unit ?? 'samples' };
}

export class SubsecondChart extends Chart {
    readonly count: number;
    private readonly most: number;
    private window: [first: number, last: number] | null = null;  // cells, both included
    private begun = -1;
    private wasDown = false;
    private isMoved = false;

    // `onWindow`: ms since 1970, of whole cells, or of a column of several seconds.
    constructor(container: HTMLElement, host: ChartHost, private readonly data: SubsecondData, private readonly onWindow: (fromMs: number, untilMs: number) => void, signal: AbortSignal) {
        super(container, host, signal);
        this.count = data.amounts.length;
        this.most = data.amounts.reduce((a, b) => Math.max(a, b), 0);
        this.canvas.style.cursor = 'crosshair';
        this.canvas.addEventListener('pointerdown', (event) => this.press(this.itemAt(event.offsetX, event.offsetY), event), { signal });
        this.canvas.addEventListener('pointermove', (event) => this.drag(this.itemAt(event.offsetX, event.offsetY)), { signal });
        this.canvas.addEventListener('pointerup', () => this.release(), { signal });
        this.canvas.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && this.selected >= 0) {
                this.begun < 0 ? this.begun = this.selected : this.finish(this.selected);
            }
        }, { signal });
    }

    // Whether a column is one second, so that cells have a time of their own.
    get isExact(): boolean {
        return this.data.columnNs === kSecondNs;
    }

    // Marks the window of a link.
    mark(fromMs: number, untilMs: number): void {
        const { startMs, cellNs, cells } = this.data;
        const cellAt = (ms: number) => Math.floor((ms - startMs) / 1000) * cells + Math.floor((ms - startMs) % 1000 * 1e6 / cellNs);
        this.window = [cellAt(fromMs), cellAt(untilMs - 1e-3)];
        this.drawNow();
    }

    private press(item: number, event: PointerEvent): void {
        if (item >= 0) {
            this.canvas.setPointerCapture(event.pointerId);
            this.wasDown = true;
            this.isMoved = false;
            this.begun = item;
        }
    }

    private drag(item: number): void {
        if (this.wasDown && item >= 0 && item !== this.begun) {
            this.isMoved = true;
            this.window = [Math.min(this.begun, item), Math.max(this.begun, item)];
            this.drawNow();
        }
    }

    private release(): void {
        if (this.wasDown) {
            this.wasDown = false;
            this.finish(this.window && this.isMoved ? (this.window[0] === this.begun ? this.window[1] : this.window[0]) : this.begun);
        }
    }

    private finish(item: number): void {
        this.window = [Math.min(this.begun, item), Math.max(this.begun, item)];
        this.begun = -1;
        this.drawNow();
        const { startMs, columnNs, cellNs, cells } = this.data;
        const [first, last] = this.window;
        const columnMs = (cell: number) => startMs + Math.floor(cell / cells) * columnNs / 1e6;
        if (this.isExact) {
            this.onWindow(columnMs(first) + first % cells * cellNs / 1e6, columnMs(last) + (last % cells + 1) * cellNs / 1e6);
        } else {
            this.onWindow(columnMs(first), columnMs(last) + columnNs / 1e6);
        }
    }

    private colourOf(shade: number): string {
        return isDark() ? `hsl(${40 - 34 * shade} ${55 + 40 * shade}% ${22 + 42 * shade}%)` : `hsl(${48 - 44 * shade} ${80 + 10 * shade}% ${90 - 50 * shade}%)`;
    }

    override legend(): [string, string][] {
        return [0.25, 0.5, 1].map((shade) => [this.colourOf(shade), formatAmount(Math.round(shade * shade * this.most), this.data.unit)]);
    }

    private boxOf(cell: number): [left: number, top: number, width: number, height: number] {
        const { columns, cells } = this.data;
        const width = (this.width - kEdge.left - kEdge.right) / columns;
        const height = (this.height - kEdge.top - kEdge.bottom) / cells;
        return [kEdge.left + Math.floor(cell / cells) * width, this.height - kEdge.bottom - (cell % cells + 1) * height, width, height];
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        const { columns, cells, amounts } = this.data;
        const bottom = this.height - kEdge.bottom;
        context.fillStyle = this.ink.field;
        context.fillRect(kEdge.left, kEdge.top, this.width - kEdge.left - kEdge.right, bottom - kEdge.top);
        // Cells of one shade together.
        const shades: number[][] = Array.from({ length: kShades }, () => []);
        for (let cell = 0; cell < this.count; cell++) {
            if (amounts[cell] > 0) {
                shades[Math.min(kShades - 1, Math.floor(Math.sqrt(amounts[cell] / this.most) * kShades))].push(cell);
            }
        }
        shades.forEach((all, i) => {
            context.fillStyle = this.colourOf(i / (kShades - 1));
            for (const cell of all) {
                const [left, top, width, height] = this.boxOf(cell);
                context.fillRect(left, top, Math.max(width, 0.8), Math.max(height, 0.8));
            }
        });
        if (this.window) {
            context.fillStyle = this.ink.accent + '55';
            const [first, last] = this.window;
            for (let column = Math.floor(first / cells); column <= Math.floor(last / cells); column++) {
                const from = this.isExact ? Math.max(first, column * cells) : column * cells;
                const to = this.isExact ? Math.min(last, column * cells + cells - 1) : column * cells + cells - 1;
                const [left, , width, height] = this.boxOf(from);
                const [, top] = this.boxOf(to);
                context.fillRect(left, top, Math.max(width, 2), (to - from + 1) * height);
            }
        }
        for (const cell of new Set([this.hovered, this.selected, this.wasDown ? -1 : this.begun])) {
            if (cell >= 0) {
                this.outline(context, ...this.boxOf(cell));
            }
        }
        this.drawAxes(context, bottom, columns);
    }

    private drawAxes(context: CanvasRenderingContext2D, bottom: number, columns: number): void {
        for (let ms = 0; ms <= 1000; ms += this.height > 260 ? 200 : 500) {
            this.text(context, ms + ' ms', kEdge.left - 6, bottom - ms / 1000 * (bottom - kEdge.top) + 4, 'right');
        }
        const every = Math.max(1, Math.ceil(90 / ((this.width - kEdge.left - kEdge.right) / columns)));
        for (let column = 0; column < columns; column += every) {
            const [x] = this.boxOf(column * this.data.cells);
            this.text(context, this.timeText(column), x, bottom + 18, column === 0 ? 'left' : x > this.width - 70 ? 'right' : 'center');
        }
    }

    private timeText(column: number): string {
        return clockText(this.data.startMs + column * this.data.columnNs / 1e6);
    }

    protected override itemAt(x: number, y: number): number {
        const { columns, cells } = this.data;
        const column = Math.floor((x - kEdge.left) / (this.width - kEdge.left - kEdge.right) * columns);
        const cell = Math.floor((this.height - kEdge.bottom - y) / (this.height - kEdge.top - kEdge.bottom) * cells);
        return column >= 0 && column < columns && cell >= 0 && cell < cells ? column * cells + cell : -1;
    }

    protected override neighbour(item: number, key: string): number {
        const { cells } = this.data;
        const next = item + ({ ArrowUp: 1, ArrowDown: -1, ArrowRight: cells, ArrowLeft: -cells }[key] ?? 0);
        return next >= 0 && next < this.count ? next : -1;
    }

    override describe(cell: number): string[] {
        const { cells, cellNs, columnNs, amounts, unit } = this.data;
        const from = cell % cells * cellNs / 1e6;
        const seconds = columnNs / kSecondNs;
        return [`${this.timeText(Math.floor(cell / cells))}, ${from} to ${from + cellNs / 1e6} ms`, formatAmount(amounts[cell], unit), ...(seconds > 1 ? [`of ${formatNumber(seconds, 'second')} together`] : [])];
    }

    override table(): ChartTable {
        return { title: 'Cells', isDown: true, columns: [] };
    }
}
