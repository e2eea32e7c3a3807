// Bars of a histogram: counts, or the shares up to each bucket.
import { ticksOf } from './axis.js';
import { Chart, type ChartHost, type ChartTable } from './chart.js';
import type { HistogramData } from './data.js';
import { formatCount, formatNumber, formatPercent, inUnit } from './format.js';
import { isDark } from './theme.js';

const kHistogramEdge = { left: 78, right: 20, top: 34, bottom: 44 };
const kBeyondPixels = 46;

export class HistogramChart extends Chart {
    override readonly layouts;
    readonly count: number;
    private readonly isLog: boolean;
    private readonly from: number[];
    private readonly to: number[];
    private readonly texts: string[];
    private readonly counts: number[];
    private readonly soFar: number[] = [];
    private readonly total: number;
    private readonly marks: HistogramData['histogram']['marks'];
    private readonly hasRest: boolean;  // the last bucket is what lies beyond the others
    private readonly shown: number;
    private right = 0;

    constructor(container: HTMLElement, host: ChartHost, private readonly data: HistogramData, signal: AbortSignal) {
        super(container, host, signal);
        const { from, to, count, shape, marks } = data.histogram;
        this.from = from.map(Number);
        this.to = to.map(Number);
        this.texts = from.map((low, i) => inUnit(low, data.decimals) + ' to ' + inUnit(to[i], data.decimals) + (data.unit ? ' ' + data.unit : ''));
        this.counts = count.map(Number);
        this.counts.reduce((sum, value, i) => this.soFar[i] = sum + value, 0);
        this.total = this.soFar.at(-1) ?? 0;
        this.isLog = shape === 'log2';
        this.layouts = this.isLog ? [] : [{ name: 'Counts', title: '' }, { name: 'Cumulative', title: 'the share of values up to each bucket' }];
        this.layout = shape === 'cumulative' ? 1 : 0;
        this.count = count.length;
        this.marks = this.isLog ? [] : marks;
        const last = this.counts.length - 1;
        const size = (i: number) => this.to[i] - this.from[i];
        this.hasRest = !this.isLog && last > 0 && Math.abs(size(last) - size(0)) > 0;
        this.shown = this.counts.length - (this.hasRest ? 1 : 0);
    }

    private get isCumulative(): boolean {
        return this.layout === 1;
    }

    // Left and right of bucket i.
    private placeOf(i: number): [left: number, right: number] {
        if (this.hasRest && i === this.shown) {
            return [this.right + 14, this.right + 14 + kBeyondPixels - 18];
        }
        const step = (this.right - kHistogramEdge.left) / this.shown;
        return [kHistogramEdge.left + i * step, kHistogramEdge.left + (i + 1) * step];
    }

    private placeOfValue(value: number): number {
        const low = this.from[0];
        const high = this.to[this.shown - 1] + 1;
        return kHistogramEdge.left + (value - low) / (high - low) * (this.right - kHistogramEdge.left);
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        this.right = this.width - kHistogramEdge.right - (this.hasRest ? kBeyondPixels : 0);
        if (this.total === 0) {
            this.text(context, 'no values', this.width / 2, this.height / 2, 'center');
            return;
        }
        const bottom = this.height - kHistogramEdge.bottom;
        const most = this.isCumulative ? 100 : Math.max(...this.counts);
        const room = bottom - kHistogramEdge.top;
        const end = this.width - kHistogramEdge.right;
        for (const tick of ticksOf(0, most, Math.max(2, Math.floor(room / 40)))) {
            const y = bottom - tick / most * room;
            context.fillStyle = this.ink.line;
            context.fillRect(kHistogramEdge.left, y, end - kHistogramEdge.left, 1);
            this.text(context, this.isCumulative ? tick + ' %' : formatCount(tick), kHistogramEdge.left - 8, y + 4, 'right');
        }
                const [full, light, rest] = isDark() ? ['#5b9bdb', '#2c4a6b', '#d9863c'] : ['#3168a3', '#bad0e7', '#c47630'];
        for (let i = 0; i < this.counts.length; i++) {
            const [left, right] = this.placeOf(i);
            const gap = right - left > 6 ? 1 : 0;
            const bar = (low: number, high: number, colour: string) => {
                const size = high > low ? Math.max((high - low) / (this.isCumulative ? this.total : most) * room, 0.7) : 0;
                context.fillStyle = colour;
                context.fillRect(left + gap, bottom - (this.isCumulative ? low / this.total * room : 0) - size, Math.max(right - left - 2 * gap, 0.7), size);
            };
            const own = this.hasRest && i === this.shown ? rest : full;
            if (this.isCumulative) {
                bar(0, this.soFar[i] - this.counts[i], light);
                bar(this.soFar[i] - this.counts[i], this.soFar[i], own);
            } else {
                bar(0, this.counts[i], own);
            }
            if (i === this.selected || i === this.hovered) {
                this.outline(context, left, kHistogramEdge.top, right - left, room);
            }
        }
        context.fillStyle = this.ink.text;
        context.fillRect(kHistogramEdge.left, bottom, end - kHistogramEdge.left, 1);
        this.drawValues(context, bottom);
        this.marks.forEach(([name, value], i) => this.drawMark(context, name, value, bottom, i));
    }

    private drawValues(context: CanvasRenderingContext2D, bottom: number): void {
        if (this.isLog) {
            const every = Math.ceil(this.shown / Math.max(2, (this.right - kHistogramEdge.left) / 80));
            for (let i = 0; i < this.shown; i += every) {
                this.text(context, inUnit(this.from[i], this.data.decimals), this.placeOf(i)[0], bottom + 18, 'center');
            }
        } else {
            const low = this.from[0];
            const high = this.to[this.shown - 1];
            const ticks = high > low ? ticksOf(low, high, Math.max(2, Math.floor((this.right - kHistogramEdge.left) / 90))) : [low];
            for (const tick of ticks.filter(Number.isInteger)) {
                const x = this.placeOfValue(tick);
                context.fillRect(x, bottom, 1, 5);
                this.text(context, inUnit(tick, this.data.decimals), x, bottom + 18, 'center');
                context.fillStyle = this.ink.text;
            }
        }
        if (this.hasRest) {
            this.text(context, 'beyond', this.right + 14 + (kBeyondPixels - 18) / 2, bottom + 18, 'center');
        }
        this.text(context, this.data.title + (this.data.unit ? ' [' + this.data.unit + ']' : ''), (kHistogramEdge.left + this.right) / 2, bottom + 36, 'center', this.ink.text);
    }

    private drawMark(context: CanvasRenderingContext2D, name: string, value: number, bottom: number, row: number): void {
        const x = this.placeOfValue(value);
        if (!(x >= kHistogramEdge.left && x <= this.right)) {
            return;
        }
        const isLeft = x > (kHistogramEdge.left + this.right) / 2;
        const colour = isDark() ? '#ff8a9a' : '#a0243c';
        context.strokeStyle = colour;
        context.lineWidth = 1;
        context.setLineDash([4, 3]);
        context.beginPath();
        context.moveTo(x, kHistogramEdge.top - 4);
        context.lineTo(x, bottom);
        context.stroke();
        context.setLineDash([]);
        const label = name + ' ' + inUnit(value, this.data.decimals);
        this.text(context, label, isLeft ? x - 5 : x + 5, 12 + 11 * (row % 2), isLeft ? 'right' : 'left', colour);
    }

    protected override itemAt(x: number, y: number): number {
        if (y < 0 || y > this.height - kHistogramEdge.bottom + 20) {
            return -1;
        }
        for (let i = 0; i < this.counts.length; i++) {
            const [left, right] = this.placeOf(i);
            if (x >= left && x < right) {
                return i;
            }
        }
        return -1;
    }

    protected override neighbour(item: number, key: string): number {
        const next = item + (key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0);
        return next >= 0 && next < this.counts.length ? next : -1;
    }

    override describe(i: number): string[] {
        return [this.texts[i], formatNumber(this.counts[i], 'value') + ', ' + formatPercent(this.counts[i] / this.total), 'up to here ' + formatPercent(this.soFar[i] / this.total)];
    }

    override table(): ChartTable {
        const { from, to } = this.data.histogram;
        return {
            title: 'Buckets',
            isDown: false,
            columns: [
                { title: 'from', isPicked: true, value: (i) => this.from[i], text: (i) => inUnit(from[i], this.data.decimals) },
                { title: 'to', value: (i) => this.to[i], text: (i) => inUnit(to[i], this.data.decimals) },
                { title: 'count', value: (i) => this.counts[i], text: (i) => formatCount(this.counts[i]) },
                { title: 'up to', value: (i) => this.soFar[i], text: (i) => formatPercent(this.soFar[i] / this.total) },
            ],
            rows: [...this.counts.keys()],
        };
    }
}
