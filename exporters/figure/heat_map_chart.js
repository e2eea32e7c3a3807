// Values over time: the stronger a cell's colour, the more values, by the logarithm.
import { durationText } from '../html/base_page.js';
import { inUnit, shadeOfCount, ticksOf } from './axis.js';
import { Chart } from './chart.js';

const kHeatMapEdge = { left: 84, right: 20, top: 14, bottom: 44 };
const kHeatMapBeyond = 16;

export class HeatMapChart extends Chart {
    constructor(container, page, data) {
        super(container, page);
        const map = data.heat_map;
        this.data = data;
        this.map = map;
        const numbers = (parts) => ({ low: parts.low.map(Number), high: parts.high.map(Number) });
        this.times = numbers(map.times);
        this.steps = numbers(map.steps);
        this.counts = map.cells.count.map(Number);
        this.most = this.counts.reduce((a, b) => Math.max(a, b), 0);
        this.total = this.counts.reduce((a, b) => a + b, 0);
        this.cellOf = new Map(this.counts.map((_, i) => [map.cells.time[i] * this.steps.low.length + map.cells.step[i], i]));
        this.timeTotals = this.times.low.map(() => 0);
        this.counts.forEach((count, i) => this.timeTotals[map.cells.time[i]] += count);
        const last = this.steps.low.length - 1 - (map.has_rest ? 1 : 0);
        this.low = this.steps.low[0];
        this.high = last >= 0 ? this.steps.high[last] + 1 : this.low + 1;
        this.duration = Math.max(1, this.times.high.at(-1) ?? 1);
    }

    timeText(ns) {
        return this.map.begin ? durationText(ns, this.duration) : String(Math.round(ns));
    }

    valueText(step) {
        const { low, high } = this.map.steps;
        return inUnit(low[step], this.data.decimals) + ' to ' + inUnit(high[step], this.data.decimals) + (this.data.unit ? ' ' + this.data.unit : '');
    }

    boxOf(i) {
        const { time, step } = this.map.cells;
        const x = (at) => kHeatMapEdge.left + at / this.duration * (this.width - kHeatMapEdge.left - kHeatMapEdge.right);
        const left = x(this.times.low[time[i]]);
        const width = Math.max(x(this.times.high[time[i]]) - left, 1);
        if (this.map.has_rest && step[i] === this.steps.low.length - 1) {
            return [left, kHeatMapEdge.top, width, kHeatMapBeyond];
        }
        const y = (value) => this.bottom - (value - this.low) / (this.high - this.low) * (this.bottom - this.top);
        const top = y(this.steps.high[step[i]] + 1);
        return [left, top, width, Math.max(y(this.steps.low[step[i]]) - top, 1)];
    }

    draw(context) {
        if (this.counts.length === 0) {
            this.text(context, 'no values', this.width / 2, this.height / 2, 'center');
            return;
        }
        this.bottom = this.height - kHeatMapEdge.bottom;
        this.top = kHeatMapEdge.top + (this.map.has_rest ? kHeatMapBeyond + 6 : 0);
        const end = this.width - kHeatMapEdge.right;
        context.fillStyle = this.ink.field;
        context.fillRect(kHeatMapEdge.left, this.top, end - kHeatMapEdge.left, this.bottom - this.top);
        if (this.map.has_rest) {
            context.fillRect(kHeatMapEdge.left, kHeatMapEdge.top, end - kHeatMapEdge.left, kHeatMapBeyond);
            this.text(context, 'beyond', kHeatMapEdge.left - 8, kHeatMapEdge.top + 12, 'right');
        }
        const isDark = this.page.isDark();
        for (let i = 0; i < this.counts.length; i++) {
            const shade = shadeOfCount(this.counts[i], this.most);
            context.fillStyle = isDark ? `hsl(${212 - 30 * shade} ${45 + 35 * shade}% ${28 + 50 * shade}%)` : `hsl(212 ${50 + 30 * shade}% ${84 - 64 * shade}%)`;
            context.fillRect(...this.boxOf(i));
        }
        for (const item of [this.hovered, this.selected]) {
            if (item >= 0) {
                this.outline(context, ...this.boxOf(item));
            }
        }
        this.drawAxes(context, end);
    }

    drawAxes(context, end) {
        for (const tick of ticksOf(this.low, this.high, Math.max(2, Math.floor((this.bottom - this.top) / 36)))) {
            if (Number.isInteger(tick)) {
                const y = this.bottom - (tick - this.low) / (this.high - this.low) * (this.bottom - this.top);
                this.text(context, inUnit(tick, this.data.decimals), kHeatMapEdge.left - 8, y + 4, 'right');
            }
        }
        context.fillStyle = this.ink.text;
        context.fillRect(kHeatMapEdge.left, this.bottom, end - kHeatMapEdge.left, 1);
        for (const tick of ticksOf(0, this.duration, Math.max(2, Math.floor((end - kHeatMapEdge.left) / 110)))) {
            const x = kHeatMapEdge.left + tick / this.duration * (end - kHeatMapEdge.left);
            context.fillStyle = this.ink.text;
            context.fillRect(x, this.bottom, 1, 5);
            this.text(context, this.timeText(tick), x, this.bottom + 18, 'center');
        }
        const what = this.map.begin ? 'time from ' + this.map.begin : 'number of the value';
        this.text(context, what, (kHeatMapEdge.left + end) / 2, this.bottom + 36, 'center', this.ink.text);
        context.save();
        context.translate(13, (this.top + this.bottom) / 2);
        context.rotate(-Math.PI / 2);
        this.text(context, this.data.unit ? 'value [' + this.data.unit + ']' : 'value', 0, 0, 'center', this.ink.text);
        context.restore();
    }

    itemAt(x, y) {
        for (let i = 0; i < this.counts.length; i++) {
            const [left, top, width, height] = this.boxOf(i);
            if (x >= left && x < left + width && y >= top && y < top + height) {
                return i;
            }
        }
        return -1;
    }

    // The nearest cell that way which has values.
    neighbour(item, key) {
        const { time, step } = this.map.cells;
        const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
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

    describe(i) {
        const { time, step } = this.map.cells;
        const inTime = this.timeTotals[time[i]];
        return [this.valueText(step[i]) + (this.map.has_rest && step[i] === this.steps.low.length - 1 ? ' (beyond)' : ''),
            (this.map.begin ? 'from ' : 'values ') + this.timeText(this.times.low[time[i]]) + ' to ' + this.timeText(this.times.high[time[i]]),
            this.counts[i].toLocaleString('en-US') + (this.counts[i] === 1 ? ' value' : ' values') + ' of ' + inTime.toLocaleString('en-US') + ' in this time, ' + (100 * this.counts[i] / inTime).toFixed(2) + ' %'];
    }

    // The highest values, which one looks for first.
    table() {
        const { time, step } = this.map.cells;
        return {
            title: 'Cells',
            sorted: 1,
            columns: [{ title: this.map.begin ? 'time' : 'number' }, { title: 'from' }, { title: 'to' }, { title: 'count' }],
            rows: this.counts.map((count, i) => ({ item: i, cells: [this.timeText(this.times.low[time[i]]), inUnit(this.map.steps.low[step[i]], this.data.decimals), inUnit(this.map.steps.high[step[i]], this.data.decimals), count.toLocaleString('en-US')], keys: [this.times.low[time[i]], this.steps.low[step[i]], this.steps.high[step[i]], count] })),
        };
    }
}
