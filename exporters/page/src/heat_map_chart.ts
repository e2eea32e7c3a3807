// Values over time: the stronger a cell's colour, the more values, by the logarithm.
import { logTicksOf, shadeOfCount, ticksOf } from './axis.js';
import { Chart, type ChartHost, type ChartTable } from './chart.js';
import type { HeatMapData, Parts } from './data.js';
import { durationText, formatCount, formatNumber, formatPercent, inUnit, quantityText } from './format.js';
import { isDark } from './theme.js';

const kHeatMapEdge = { left: 92, right: 20, top: 14, bottom: 44 };
const kLegendShades = 6;
const kHeatMapBeyond = 16;

export class HeatMapChart extends Chart {
    readonly counts: number[];
    private readonly map: HeatMapData['heat_map'];
    private readonly times: { low: number[]; high: number[] };
    private readonly steps: { low: number[]; high: number[] };
    private readonly most: number;
    private readonly isLog: boolean;
    private readonly hasRest: boolean;
    private readonly timeTotals: number[];
    private readonly low: number;
    private readonly high: number;
    private readonly duration: number;
    private top = 0;
    private bottom = 0;

    constructor(container: HTMLElement, host: ChartHost, private readonly data: HeatMapData, signal: AbortSignal) {
        super(container, host, signal);
        const map = data.heat_map;
        this.map = map;
        const numbers = (parts: Parts) => ({ low: parts.low.map(Number), high: parts.high.map(Number) });
        this.times = numbers(map.times);
        this.steps = numbers(map.steps);
        this.counts = map.cells.count.map(Number);
        this.most = this.counts.reduce((a, b) => Math.max(a, b), 0);
        this.timeTotals = this.times.low.map(() => 0);
        this.counts.forEach((count, i) => this.timeTotals[map.cells.time[i]] += count);
        const { low, high } = this.steps;
        const sizes = low.map((from, i) => high[i] - from + 1);
        // Quarters of powers of two, where values span decades.
        this.isLog = new Set(sizes).size > 1 && low.every((from, i) => from % sizes[i] === 0 && (from < 8 ? sizes[i] === 1 : from / sizes[i] >= 4 && from / sizes[i] < 8));
        this.hasRest = map.has_rest && !this.isLog;
        const last = low.length - 1 - (this.hasRest ? 1 : 0);
        this.low = low[0];
        this.high = last >= 0 ? high[last] + 1 : this.low + 1;
        this.duration = Math.max(1, this.times.high.at(-1) ?? 1);
    }

    override get count(): number {
        return this.counts.length;
    }

    private timeText(ns: number): string {
        return this.map.begin ? durationText(ns, this.duration) : formatCount(ns);
    }

    private valueText(step: number): string {
        const { low, high } = this.map.steps;
        return inUnit(low[step], this.data.decimals) + ' to ' + inUnit(high[step], this.data.decimals) + (this.data.unit ? ' ' + this.data.unit : '');
    }

    private yOf(value: number): number {
        const place = (at: number) => this.isLog ? Math.log2(Math.max(at, 0.5)) : at;
        return this.bottom - (place(value) - place(this.low)) / (place(this.high) - place(this.low)) * (this.bottom - this.top);
    }

    private colourOf(shade: number): string {
        return isDark() ? `hsl(${212 - 30 * shade} ${45 + 35 * shade}% ${28 + 50 * shade}%)` : `hsl(212 ${50 + 30 * shade}% ${84 - 64 * shade}%)`;
    }

    // From one value to the most.
    override legend(): [string, string][] {
        const counts = Array.from({ length: kLegendShades }, (_, i) => Math.round(this.most ** (i / (kLegendShades - 1))));
        return this.count === 0 ? [] : [...new Set(counts)].map((count, i, all) => [this.colourOf(shadeOfCount(count, this.most)), i + 1 < all.length ? formatCount(count) : formatNumber(count, 'value') + ' in a cell']);
    }

    private boxOf(i: number): [left: number, top: number, width: number, height: number] {
        const { time, step } = this.map.cells;
        const x = (at: number) => kHeatMapEdge.left + at / this.duration * (this.width - kHeatMapEdge.left - kHeatMapEdge.right);
        const left = x(this.times.low[time[i]]);
        const width = Math.max(x(this.times.high[time[i]]) - left, 1);
        if (this.isBeyond(i)) {
            return [left, kHeatMapEdge.top, width, kHeatMapBeyond];
        }
        const top = this.yOf(this.steps.high[step[i]] + 1);
        return [left, top, width, Math.max(this.yOf(this.steps.low[step[i]]) - top, 1)];
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        if (this.counts.length === 0) {
            this.text(context, 'no values', this.width / 2, this.height / 2, 'center');
            return;
        }
        this.bottom = this.height - kHeatMapEdge.bottom;
        this.top = kHeatMapEdge.top + (this.hasRest ? kHeatMapBeyond + 6 : 0);
        const end = this.width - kHeatMapEdge.right;
        context.fillStyle = this.ink.field;
        context.fillRect(kHeatMapEdge.left, this.top, end - kHeatMapEdge.left, this.bottom - this.top);
        if (this.hasRest) {
            context.fillRect(kHeatMapEdge.left, kHeatMapEdge.top, end - kHeatMapEdge.left, kHeatMapBeyond);
            this.text(context, 'beyond', kHeatMapEdge.left - 8, kHeatMapEdge.top + 12, 'right');
        }
        for (let i = 0; i < this.counts.length; i++) {
            context.fillStyle = this.colourOf(shadeOfCount(this.counts[i], this.most));
            context.fillRect(...this.boxOf(i));
        }
        for (const item of [this.hovered, this.selected]) {
            if (item >= 0) {
                this.outline(context, ...this.boxOf(item));
            }
        }
        this.drawAxes(context, end);
    }

    private drawAxes(context: CanvasRenderingContext2D, end: number): void {
        const most = Math.max(2, Math.floor((this.bottom - this.top) / 36));
        const worth = 10 ** this.data.decimals;
        for (const tick of (this.isLog ? logTicksOf(Math.max(this.low, 1), this.high, most) : ticksOf(this.low, this.high, most))) {
            this.text(context, quantityText(tick / worth, this.data.unit, this.isLog ? tick / worth : this.high / worth), kHeatMapEdge.left - 8, Math.max(this.yOf(tick) + 4, this.top + 10), 'right', this.ink.soft, kHeatMapEdge.left - 34);
        }
        context.fillStyle = this.ink.text;
        context.fillRect(kHeatMapEdge.left, this.bottom, end - kHeatMapEdge.left, 1);
        const x = (tick: number) => kHeatMapEdge.left + tick / this.duration * (end - kHeatMapEdge.left);
        const ticks = ticksOf(0, this.duration, Math.max(2, Math.floor((end - kHeatMapEdge.left) / 90)));
        ticks.forEach((tick) => context.fillRect(x(tick), this.bottom, 1, 5));
        this.labels(context, ticks.map((tick) => [x(tick), this.timeText(tick)]), this.bottom + 18, kHeatMapEdge.left - 30, this.width);
        const what = this.map.begin ? 'time from ' + this.map.begin : 'number of the value';
        this.text(context, what, (kHeatMapEdge.left + end) / 2, this.bottom + 36, 'center', this.ink.text, end - kHeatMapEdge.left);
        context.save();
        context.translate(13, (this.top + this.bottom) / 2);
        context.rotate(-Math.PI / 2);
        this.text(context, this.isLog ? 'value, by its logarithm' : 'value', 0, 0, 'center', this.ink.text, this.bottom - this.top);
        context.restore();
    }

    protected override itemAt(x: number, y: number): number {
        for (let i = 0; i < this.counts.length; i++) {
            const [left, top, width, height] = this.boxOf(i);
            if (x >= left && x < left + width && y >= top && y < top + height) {
                return i;
            }
        }
        return -1;
    }

    // The nearest cell that way which has values.
    protected override neighbour(item: number, key: string): number {
        const { time, step } = this.map.cells;
        const dx = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0;
        const dy = key === 'ArrowDown' ? -1 : key === 'ArrowUp' ? 1 : 0;
        let best = -1;
        let bestDistance = Infinity;
        for (let i = 0; i < this.counts.length; i++) {
            const along = (time[i] - time[item]) * dx + (step[i] - step[item]) * dy;
            const beside = Math.abs(dx === 0 ? time[i] - time[item] : step[i] - step[item]);
            const distance = along + 8 * beside;
            if (along > 0 && distance < bestDistance) {
                best = i;
                bestDistance = distance;
            }
        }
        return best;
    }

    private isBeyond(i: number): boolean {
        return this.hasRest && this.map.cells.step[i] === this.steps.low.length - 1;
    }

    override describe(i: number): string[] {
        const { time, step } = this.map.cells;
        const inTime = this.timeTotals[time[i]];
        return [this.valueText(step[i]) + (this.isBeyond(i) ? ' (beyond)' : ''),
            (this.map.begin ? 'from ' : 'values ') + this.timeText(this.times.low[time[i]]) + ' to ' + this.timeText(this.times.high[time[i]]),
            formatNumber(this.counts[i], 'value') + ' of ' + formatCount(inTime) + ' in this time, ' + formatPercent(this.counts[i] / inTime)];
    }

    // The highest values, the most interesting ones.
    override table(): ChartTable {
        const { time, step } = this.map.cells;
        const unit = this.data.unit ? ` [${this.data.unit}]` : '';
        const value = (parts: string[]) => (i: number) => inUnit(parts[step[i]], this.data.decimals);
        return {
            title: 'Cells',
            isDown: true,
            columns: [
                { title: this.map.begin ? 'time' : 'number', isPicked: true, value: (i) => this.times.low[time[i]], text: (i) => this.timeText(this.times.low[time[i]]) },
                { title: 'from' + unit, isSorted: true, value: (i) => this.steps.low[step[i]], text: value(this.map.steps.low) },
                { title: 'to' + unit, value: (i) => this.steps.high[step[i]], text: value(this.map.steps.high) },
                { title: 'count', value: (i) => this.counts[i], text: (i) => formatCount(this.counts[i]) },
            ],
        };
    }
}
