// Amounts over time, a colour for each of the largest groups; a range of time can be dragged.
import { ticksOf } from '../axis.js';
import { Chart, type ChartHost, type ChartTable } from '../chart.js';
import { formatAmount, formatPercent } from '../format.js';
import { isDark } from '../theme.js';
import { type Answer, type Cell, columnOf } from './api.js';
import { clockText, dayText } from './selection.js';

const kEdge = { left: 12, right: 12, top: 10, bottom: 24 };
const kGroupsMax = 8;
const kOthers = 'others';
const kHues = [212, 28, 140, 280, 48, 180, 340, 96];

export class SeriesChart extends Chart {
    readonly count: number;  // of steps
    private readonly groups: string[];
    private readonly totals: number[];
    private readonly sums: Float64Array[];  // by group, then step
    private readonly most: number;
    private range: [from: number, to: number] | null = null;
    private first = -1;
    private isMoved = false;

    private readonly startMs: number;
    private readonly stepMs: number;
    private readonly unit: string;

    // `answer`: of `series --steps N`, maybe `--by KEY`.
    constructor(container: HTMLElement, host: ChartHost, answer: Answer, private readonly onRange: (fromMs: number, untilMs: number) => void, signal: AbortSignal) {
        super(container, host, signal);
        const amount = columnOf(answer, 'amount');
        const { rows } = answer;
        const timeOf = (row: Cell[], place = 0) => Date.parse(String(row[place]));
        const nameOf = (row: Cell[]) => amount === 2 ? 'all' : String(row[2] ?? '') || '(none)';
        this.unit = answer.columns[amount].unit;
        this.startMs = rows.reduce((least, row) => Math.min(least, timeOf(row)), rows.length > 0 ? Infinity : 0);
        this.stepMs = rows.length > 0 ? Math.max(timeOf(rows[0], 1) - timeOf(rows[0]), 1e-3) : 1;
        const stepOf = (row: Cell[]) => Math.round((timeOf(row) - this.startMs) / this.stepMs);
        const order = new Map<string, number>();
        rows.forEach((row) => order.set(nameOf(row), (order.get(nameOf(row)) ?? 0) + Number(row[amount])));
        const names = [...order.keys()].sort((a, b) => order.get(b)! - order.get(a)!);
        this.groups = names.length > kGroupsMax ? [...names.slice(0, kGroupsMax), kOthers] : names;
        const place = new Map(names.map((name, i) => [name, Math.min(i, kGroupsMax)]));
        this.count = rows.reduce((count, row) => Math.max(count, stepOf(row) + 1), 1);
        this.sums = this.groups.map(() => new Float64Array(this.count));
        rows.forEach((row) => this.sums[place.get(nameOf(row))!][stepOf(row)] += Number(row[amount]));
        this.totals = this.sums.map((sums) => sums.reduce((a, b) => a + b, 0));
        this.most = Math.max(1, ...Array.from({ length: this.count }, (_, step) => this.totalOf(step)));
        this.listen(signal);
    }

    private totalOf(step: number): number {
        return this.sums.reduce((sum, group) => sum + group[step], 0);
    }

    private colourOf(group: number): string {
        if (this.groups[group] === kOthers && group === kGroupsMax) {
            return isDark() ? '#4a525c' : '#c5cbd3';
        }
        return isDark() ? `hsl(${kHues[group]} 45% 52%)` : `hsl(${kHues[group]} 58% 62%)`;
    }

    private x(step: number): number {
        return kEdge.left + step / this.count * (this.width - kEdge.left - kEdge.right);
    }

    private stepAt(x: number): number {
        return Math.max(0, Math.min(this.count - 1, Math.floor((x - kEdge.left) / (this.width - kEdge.left - kEdge.right) * this.count)));
    }

    private timeText(step: number): string {
        const isLong = this.count * this.stepMs > 36 * 3_600_000;
        const ms = this.startMs + step * this.stepMs;
        return isLong ? dayText(ms) : clockText(ms);
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        const bottom = this.height - kEdge.bottom;
        context.fillStyle = this.ink.field;
        context.fillRect(kEdge.left, kEdge.top, this.width - kEdge.left - kEdge.right, bottom - kEdge.top);
        for (let step = 0; step < this.count; step++) {
            const left = this.x(step);
            const width = Math.max(this.x(step + 1) - left - (this.count < 250 ? 1 : 0), 0.7);
            let y = bottom;
            for (let group = 0; group < this.groups.length; group++) {
                const size = this.sums[group][step] / this.most * (bottom - kEdge.top - 4);
                context.fillStyle = this.colourOf(group);
                context.fillRect(left, y - size, width, size);
                y -= size;
            }
        }
        context.fillStyle = this.ink.text;
        context.fillRect(kEdge.left, bottom, this.width - kEdge.left - kEdge.right, 1);
        for (const tick of ticksOf(0, this.count, Math.max(2, Math.floor(this.width / 130)))) {
            const x = this.x(tick);
            const isNearEnd = x > this.width - 60;
            context.fillRect(x, bottom, 1, 4);
            this.text(context, this.timeText(tick), x, bottom + 17, tick === 0 ? 'left' : isNearEnd ? 'right' : 'center');
            context.fillStyle = this.ink.text;
        }
        for (const step of new Set([this.hovered, this.selected])) {
            if (step >= 0) {
                this.outline(context, this.x(step), kEdge.top, this.x(step + 1) - this.x(step), bottom - kEdge.top);
            }
        }
        if (this.range) {
            const [from, to] = this.range;
            context.fillStyle = this.ink.accent + '40';
            context.fillRect(this.x(from), kEdge.top, this.x(to) - this.x(from), bottom - kEdge.top);
        }
    }

    private listen(signal: AbortSignal): void {
        this.canvas.style.cursor = 'crosshair';
        this.canvas.addEventListener('pointerdown', (event) => {
            this.canvas.setPointerCapture(event.pointerId);
            this.first = this.stepAt(event.offsetX);
            this.isMoved = false;
        }, { signal });
        this.canvas.addEventListener('pointermove', (event) => {
            const last = this.stepAt(event.offsetX);
            if (this.first >= 0 && last !== this.first) {
                this.isMoved = true;
                this.range = [Math.min(this.first, last), Math.max(this.first, last) + 1];
                this.drawNow();
            }
        }, { signal });
        this.canvas.addEventListener('pointerup', () => {
            this.first = -1;
            if (this.isMoved && this.range) {
                this.onRange(this.startMs + this.range[0] * this.stepMs, this.startMs + this.range[1] * this.stepMs);
            }
        }, { signal });
        this.canvas.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && this.selected >= 0) {
                this.onRange(this.startMs + this.selected * this.stepMs, this.startMs + (this.selected + 1) * this.stepMs);
            }
        }, { signal });
    }

    protected override itemAt(x: number): number {
        return this.stepAt(x);
    }

    protected override neighbour(step: number, key: string): number {
        const next = step + (key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0);
        return next >= 0 && next < this.count ? next : -1;
    }

    override describe(step: number): string[] {
        const total = this.totalOf(step);
        const parts = this.groups.map((name, group) => [name, this.sums[group][step]] as const).filter(([, value]) => value !== 0);
        return [this.timeText(step) + ', ' + formatAmount(total, this.unit), ...parts.map(([name, value]) => `${name}: ${formatAmount(value, this.unit)}, ${formatPercent(value / total)}`)];
    }

    override legend(): [string, string][] {
        return this.groups.map((name, i) => [this.colourOf(i), `${name} ${formatAmount(this.totals[i], this.unit)}`]);
    }

    override table(): ChartTable {
        return {
            title: 'Groups',
            isDown: true,
            columns: [
                { title: 'group', isText: true, isPicked: true, value: (i) => this.groups[i], text: (i) => this.groups[i] },
                { title: 'amount', isSorted: true, value: (i) => this.totals[i], text: (i) => formatAmount(this.totals[i], this.unit) },
                { title: 'share', value: (i) => this.totals[i], text: (i) => formatPercent(this.totals[i] / Math.max(1, this.totals.reduce((a, b) => a + b, 0))) },
            ],
        };
    }
}
