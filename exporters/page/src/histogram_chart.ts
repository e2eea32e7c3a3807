// Bars of a histogram: counts, the shares up to each bucket, or counts in powers of two.
import { logTicksOf, ticksOf } from './axis.js';
import { Chart, type ChartHost, type ChartTable } from './chart.js';
import type { Buckets, HistogramData } from './data.js';
import { formatCount, formatNumber, formatPercent, inUnit, quantityText } from './format.js';
import { isDark } from './theme.js';

const kEdge = { left: 78, right: 20, top: 46, bottom: 44 };
const kBeyondPixels = 64;

interface Bars {
    data: Buckets;
    from: number[];
    to: number[];
    counts: number[];
    soFar: number[];
    isLog: boolean;
    shown: number;  // without a last bucket for values beyond the others
}

function barsOf(data: Buckets, isLog: boolean): Bars {
    const [from, to, counts] = [data.from.map(Number), data.to.map(Number), data.count.map(Number)];
    let sum = 0;
    const last = counts.length - 1;
    const hasRest = !isLog && last > 0 && to[last] - from[last] !== to[0] - from[0];
    return { data, from, to, counts, soFar: counts.map((count) => sum += count), isLog, shown: counts.length - (hasRest ? 1 : 0) };
}

export class HistogramChart extends Chart {
    override readonly layouts;
    private readonly linear: Bars;
    private readonly log: Bars | null;
    private readonly total: number;
    private readonly hasTwo: boolean;
    private right = 0;

    constructor(container: HTMLElement, host: ChartHost, private readonly data: HistogramData, signal: AbortSignal) {
        super(container, host, signal);
        const { shape, log2 } = data.histogram;
        this.linear = barsOf(data.histogram, shape === 'log2');
        this.log = log2 ? barsOf(log2, true) : null;
        this.total = this.linear.soFar.at(-1) ?? 0;
        this.hasTwo = shape !== 'log2';
        const layouts = [{ name: 'Counts', title: 'values in each bucket' }, { name: 'Cumulative', title: 'the share of values up to each bucket' }, { name: 'Logarithmic', title: 'values in each power of two' }];
        this.layouts = this.hasTwo ? layouts.slice(0, this.log ? 3 : 2) : [];
        // Values that span decades would be one bar.
        this.layout = this.log ? 2 : shape === 'cumulative' ? 1 : 0;
    }

    private get bars(): Bars {
        return this.layout === 2 && this.log ? this.log : this.linear;
    }

    get isCumulative(): boolean {
        return this.hasTwo && this.layout === 1;
    }

    override get count(): number {
        return this.bars.counts.length;
    }

    private get hasRest(): boolean {
        return this.bars.shown < this.count;
    }

    // Left and right of bucket i.
    private placeOf(i: number): [left: number, right: number] {
        if (this.hasRest && i === this.bars.shown) {
            return [this.right + 24, this.right + kBeyondPixels - 14];
        }
        const step = (this.right - kEdge.left) / this.bars.shown;
        return [kEdge.left + i * step, kEdge.left + (i + 1) * step];
    }

    private placeOfValue(value: number): number {
        const { from, to, isLog, shown } = this.bars;
        if (isLog) {
            const i = to.findIndex((end) => value < end + 1);
            const [left, right] = i < 0 ? [Infinity, Infinity] : this.placeOf(i);
            return left + (right - left) * (i < 0 || from[i] === 0 ? 0 : Math.max(0, Math.log2(value / from[i])) / Math.log2((to[i] + 1) / from[i]));
        }
        return kEdge.left + (value - from[0]) / (to[shown - 1] + 1 - from[0]) * (this.right - kEdge.left);
    }

    private colours(): { own: string; before: string; beyond: string } {
        return isDark() ? { own: '#5b9bdb', before: '#2c4a6b', beyond: '#d9863c' } : { own: '#3168a3', before: '#bad0e7', beyond: '#c47630' };
    }

    override legend(): [string, string][] {
        const { own, before, beyond } = this.colours();
        const entries: [string, string][] = this.isCumulative ? [[own, 'values of the bucket'], [before, 'values of those before it']] : [[own, this.bars.isLog ? 'values; buckets are powers of two' : 'values']];
        return this.total === 0 ? [] : this.hasRest ? [...entries, [beyond, 'all values beyond the other buckets']] : entries;
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        this.right = this.width - kEdge.right - (this.hasRest ? kBeyondPixels : 0);
        if (this.total === 0) {
            this.text(context, 'no values', this.width / 2, this.height / 2, 'center');
            return;
        }
        const { counts, soFar, shown } = this.bars;
        const bottom = this.height - kEdge.bottom;
        const most = this.isCumulative ? 100 : Math.max(...counts);
        const room = bottom - kEdge.top;
        const end = this.width - kEdge.right;
        for (const tick of ticksOf(0, most, Math.max(2, Math.floor(room / 40)))) {
            const y = bottom - tick / most * room;
            context.fillStyle = this.ink.line;
            context.fillRect(kEdge.left, y, end - kEdge.left, 1);
            this.text(context, this.isCumulative ? tick + ' %' : formatCount(tick), kEdge.left - 8, y + 4, 'right');
        }
        const colours = this.colours();
        for (let i = 0; i < counts.length; i++) {
            const [left, right] = this.placeOf(i);
            const gap = right - left > 6 ? 1 : 0;
            const bar = (low: number, high: number, colour: string) => {
                const size = high > low ? Math.max((high - low) / (this.isCumulative ? this.total : most) * room, 0.7) : 0;
                context.fillStyle = colour;
                context.fillRect(left + gap, bottom - (this.isCumulative ? low / this.total * room : 0) - size, Math.max(right - left - 2 * gap, 0.7), size);
            };
            const own = i === shown ? colours.beyond : colours.own;
            if (this.isCumulative) {
                bar(0, soFar[i] - counts[i], colours.before);
                bar(soFar[i] - counts[i], soFar[i], own);
            } else {
                bar(0, counts[i], own);
            }
            if (i === this.selected || i === this.hovered) {
                this.outline(context, left, kEdge.top, right - left, room);
            }
        }
        context.fillStyle = this.ink.text;
        context.fillRect(kEdge.left, bottom, end - kEdge.left, 1);
        this.drawValues(context, bottom);
        this.data.histogram.marks.forEach(([name, value], i) => this.drawMark(context, name, value, bottom, i));
    }

    private quantity(parts: number, range = parts, digits = 6): string {
        const worth = 10 ** this.data.decimals;
        return quantityText(parts / worth, this.data.unit, range / worth, digits);
    }

    private drawValues(context: CanvasRenderingContext2D, bottom: number): void {
        const { from, to, isLog, shown } = this.bars;
        const [low, high] = [from[0], to[shown - 1]];
        const most = Math.max(2, Math.floor((this.right - kEdge.left) / 80));
        const ticks = (isLog ? logTicksOf(Math.max(low, 1), high, most) : high > low ? ticksOf(low, high, most) : [low]).filter(Number.isInteger);
        ticks.forEach((tick) => context.fillRect(this.placeOfValue(tick), bottom, 1, 5));
        this.labels(context, ticks.map((tick) => [this.placeOfValue(tick), this.quantity(tick, isLog ? tick : high)]), bottom + 18, 4, this.hasRest ? this.right + 12 : this.width);
        if (this.hasRest) {
            this.text(context, 'beyond', this.right + (kBeyondPixels + 10) / 2, bottom + 18, 'center');
        }
        this.text(context, this.data.title + (isLog ? ', by its logarithm' : ''), (kEdge.left + this.right) / 2, bottom + 36, 'center', this.ink.text, this.right - kEdge.left);
    }

    private drawMark(context: CanvasRenderingContext2D, name: string, value: number, bottom: number, row: number): void {
        const x = this.placeOfValue(value);
        if (!(x >= kEdge.left && x <= this.right)) {
            return;
        }
        const isLeft = x > (kEdge.left + this.right) / 2;
        const colour = isDark() ? '#ff8a9a' : '#a0243c';
        context.strokeStyle = colour;
        context.lineWidth = 1;
        context.setLineDash([4, 3]);
        context.beginPath();
        context.moveTo(x, kEdge.top - 4);
        context.lineTo(x, bottom);
        context.stroke();
        context.setLineDash([]);
        this.text(context, name + ' ' + this.quantity(value, value, 4), isLeft ? x - 5 : x + 5, 12 + 13 * (row % 3), isLeft ? 'right' : 'left', colour);
    }

    protected override itemAt(x: number, y: number): number {
        const isBeside = y < 0 || y > this.height - kEdge.bottom + 20;
        return isBeside ? -1 : this.bars.counts.findIndex((_, i) => x >= this.placeOf(i)[0] && x < this.placeOf(i)[1]);
    }

    protected override neighbour(item: number, key: string): number {
        const next = item + (key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0);
        return next >= 0 && next < this.count ? next : -1;
    }

    override describe(i: number): string[] {
        const { data: { from, to }, counts, soFar } = this.bars;
        const { decimals, unit } = this.data;
        return [(inUnit(from[i], decimals) + ' to ' + inUnit(to[i], decimals) + ' ' + unit).trimEnd(), formatNumber(counts[i], 'value') + ', ' + formatPercent(counts[i] / this.total), 'up to here ' + formatPercent(soFar[i] / this.total)];
    }

    override table(): ChartTable {
        const value = (name: 'from' | 'to') => ({ title: name + (this.data.unit ? ` [${this.data.unit}]` : ''), value: (i: number) => this.bars[name][i], text: (i: number) => inUnit(this.bars.data[name][i], this.data.decimals) });
        return {
            title: 'Buckets',
            isDown: false,
            columns: [
                { ...value('from'), isPicked: true },
                value('to'),
                { title: 'count', value: (i) => this.bars.counts[i], text: (i) => formatCount(this.bars.counts[i]) },
                { title: 'up to', value: (i) => this.bars.soFar[i], text: (i) => formatPercent(this.bars.soFar[i] / this.total) },
            ],
        };
    }
}
