// Bars of a histogram: counts, or the shares up to each bucket.
import { inUnit, ticksOf } from './axis.js';
import { Chart } from './chart.js';

const kHistogramEdge = { left: 78, right: 20, top: 34, bottom: 44 };
const kBeyondPixels = 46;

export class HistogramChart extends Chart {
    constructor(container, page, data) {
        super(container, page);
        const { from, to, count, shape, marks } = data.histogram;
        this.data = data;
        this.from = from.map(Number);
        this.to = to.map(Number);
        this.texts = from.map((low, i) => inUnit(low, data.decimals) + ' to ' + inUnit(to[i], data.decimals) + (data.unit ? ' ' + data.unit : ''));
        this.counts = count.map(Number);
        this.soFar = [];
        this.counts.reduce((sum, value, i) => this.soFar[i] = sum + value, 0);
        this.total = this.soFar.at(-1) ?? 0;
        this.isLog = shape === 'log2';
        this.isCumulative = shape === 'cumulative';
        this.marks = this.isLog ? [] : marks;
        const last = this.counts.length - 1;
        const size = (i) => this.to[i] - this.from[i];
        this.hasRest = !this.isLog && last > 0 && Math.abs(size(last) - size(0)) > 0;
        this.shown = this.counts.length - (this.hasRest ? 1 : 0);
    }

    // Left and right of bucket i.
    placeOf(i) {
        if (this.hasRest && i === this.shown) {
            return [this.right + 14, this.right + 14 + kBeyondPixels - 18];
        }
        const step = (this.right - kHistogramEdge.left) / this.shown;
        return [kHistogramEdge.left + i * step, kHistogramEdge.left + (i + 1) * step];
    }

    placeOfValue(value) {
        const low = this.from[0];
        const high = this.to[this.shown - 1] + 1;
        return kHistogramEdge.left + (value - low) / (high - low) * (this.right - kHistogramEdge.left);
    }

    draw(context) {
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
            this.text(context, this.isCumulative ? tick + ' %' : tick.toLocaleString('en-US'), kHistogramEdge.left - 8, y + 4, 'right');
        }
        const isDark = this.page.isDark();
        const [full, light, rest] = isDark ? ['#5b9bdb', '#2c4a6b', '#d9863c'] : ['#3168a3', '#bad0e7', '#c47630'];
        for (let i = 0; i < this.counts.length; i++) {
            const [left, right] = this.placeOf(i);
            const gap = right - left > 6 ? 1 : 0;
            const bar = (low, high, colour) => {
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

    drawValues(context, bottom) {
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

    drawMark(context, name, value, bottom, row) {
        const x = this.placeOfValue(value);
        if (!(x >= kHistogramEdge.left && x <= this.right)) {
            return;
        }
        const isLeft = x > (kHistogramEdge.left + this.right) / 2;
        context.strokeStyle = this.page.isDark() ? '#ff8a9a' : '#a0243c';
        context.lineWidth = 1;
        context.setLineDash([4, 3]);
        context.beginPath();
        context.moveTo(x, kHistogramEdge.top - 4);
        context.lineTo(x, bottom);
        context.stroke();
        context.setLineDash([]);
        const label = name + ' ' + inUnit(value, this.data.decimals);
        this.text(context, label, isLeft ? x - 5 : x + 5, 12 + 11 * (row % 2), isLeft ? 'right' : 'left', context.strokeStyle);
    }

    itemAt(x, y) {
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

    neighbour(item, key) {
        const next = item + (key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0);
        return next >= 0 && next < this.counts.length ? next : -1;
    }

    describe(i) {
        const share = (count) => (100 * count / this.total).toFixed(2) + ' %';
        return [this.texts[i], this.counts[i].toLocaleString('en-US') + (this.counts[i] === 1 ? ' value, ' : ' values, ') + share(this.counts[i]), 'up to here ' + share(this.soFar[i])];
    }

    table() {
        return {
            title: 'Buckets',
            columns: [{ title: 'from' }, { title: 'to' }, { title: 'count' }, { title: 'up to' }],
            rows: this.counts.map((count, i) => ({ item: i, cells: [inUnit(this.data.histogram.from[i], this.data.decimals), inUnit(this.data.histogram.to[i], this.data.decimals), count.toLocaleString('en-US'), (100 * this.soFar[i] / this.total).toFixed(2) + ' %'], keys: [this.from[i], this.to[i], count, this.soFar[i]] })),
        };
    }
}
