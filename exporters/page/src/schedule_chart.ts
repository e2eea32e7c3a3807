// The threads that each CPU ran, by time: a lane for each CPU, or for each thread. Zoomed and moved along the time.
import { ticksOf } from './axis.js';
import { Chart, type ChartHost, type ChartTable } from './chart.js';
import type { ScheduleData } from './data.js';
import { durationText, formatCount } from './format.js';
import { inkOn } from './text.js';
import { isDark } from './theme.js';

const kLane = { left: 150, right: 12, top: 26, least: 22, gap: 5 };
const kLegendThreads = 8;
const kLeastLabelPixels = 46;
const kTableDigits = 4;
const kNamedHues = 12;

interface DrawnLane {
    name: string;
    spans: number[];  // ascending in time
    busy: number;
}

export class ScheduleChart extends Chart {
    readonly threads: ScheduleData['schedule']['threads'];
    readonly duration: number;
    readonly length: Float64Array;
    readonly thread: Int32Array;
    override readonly layouts = [{ name: 'CPUs', title: '' }, { name: 'Threads', title: 'a lane a thread; orange: it waits for a CPU' }];
    marked = -1;  // a thread
    found: Set<number> | null = null;  // threads that a search finds
    from = 0;
    to: number;
    drawn = 0;
    private readonly isSampled: boolean;
    private readonly laneNames: string[];
    private readonly laneBusy: number[];
    private readonly begin: Float64Array;
    private readonly cpu: Int32Array;
    private readonly preempted: Uint8Array;
    private readonly runs: Int32Array;
    private readonly laneSpans: number[][];
    private readonly threadSpans: number[][];
    private readonly ranked: number[];
    private readonly rankOf: Int32Array;
    private laneHeight = kLane.least;

    constructor(container: HTMLElement, host: ChartHost, readonly data: ScheduleData, signal: AbortSignal) {
        super(container, host, signal);
        const { lanes, threads, duration_ns: duration, sampled } = data.schedule;
        this.threads = threads;
        this.duration = Math.max(1, duration);
        this.isSampled = sampled;
        this.laneNames = lanes.map((lane) => lane.name);
        this.laneBusy = lanes.map((lane) => lane.busy_ns);
        // Spans of all lanes, one behind the other.
        const count = lanes.reduce((sum, lane) => sum + lane.begin.length, 0);
        this.begin = new Float64Array(count);
        this.length = new Float64Array(count);
        this.thread = new Int32Array(count);
        this.cpu = new Int32Array(count);
        this.preempted = new Uint8Array(count);
        this.runs = new Int32Array(count);
        let at = 0;
        this.laneSpans = lanes.map((lane, number) => {
            const spans: number[] = [];
            for (let i = 0, time = 0; i < lane.begin.length; i++, at++) {
                time += lane.begin[i];
                this.begin[at] = time;
                this.length[at] = lane.length[i];
                this.thread[at] = lane.thread[i];
                this.preempted[at] = lane.preempted[i];
                this.runs[at] = lane.runs[i];
                this.cpu[at] = number;
                spans.push(at);
            }
            return spans;
        });
        this.threadSpans = threads.name.map(() => [] as number[]);
        for (let i = 0; i < count; i++) {
            this.threadSpans[this.thread[i]]?.push(i);
        }
        this.threadSpans.forEach((spans) => spans.sort((a, b) => this.begin[a] - this.begin[b]));
        this.ranked = threads.name.map((_, i) => i).sort((a, b) => threads.running_ns[b] - threads.running_ns[a] || a - b);
        this.rankOf = new Int32Array(threads.name.length);
        this.ranked.forEach((thread, rank) => this.rankOf[thread] = rank);
        this.to = this.duration;
        this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
        this.canvas.addEventListener('dblclick', (event) => this.zoomAt(this.timeOf(event.offsetX), 0.4));
    }

    override get count(): number {
        return this.begin.length;
    }

    private get isByThread(): boolean {
        return this.layout === 1;
    }

    lanes(): DrawnLane[] {
        return this.isByThread ? this.ranked.map((thread) => ({ name: this.threads.name[thread], spans: this.threadSpans[thread], busy: this.threads.running_ns[thread] })) : this.laneSpans.map((spans, i) => ({ name: this.laneNames[i], spans, busy: this.laneBusy[i] }));
    }

    protected override heightOf(): number {
        const count = this.isByThread ? this.ranked.length : this.laneSpans.length;
        const room = (this.container.clientHeight - kLane.top - 8) / Math.max(count, 1) - kLane.gap;
        this.laneHeight = Math.max(kLane.least, Math.floor(room));
        return Math.max(this.container.clientHeight, kLane.top + count * (this.laneHeight + kLane.gap) + 8);
    }

    private get left(): number {
        return Math.min(kLane.left, 0.3 * this.width);
    }

    // Of the threads that run longest; those of several threads are grey.
    override legend(): [string, string][] {
        const named = this.ranked.slice(0, kLegendThreads).map((thread): [string, string] => [this.hueOf(thread), this.threads.name[thread]]);
        const grey = this.laneSpans.length > 0 && this.thread.some((thread) => thread < 0) ? [[this.grey(), 'short runs of several threads'] as [string, string]] : [];
        return [...named, ...grey, ...(this.isByThread ? [[this.waiting(), 'waits for a CPU'] as [string, string]] : [])];
    }

    private xOf(time: number): number {
        return this.left + (time - this.from) / (this.to - this.from) * (this.width - this.left - kLane.right);
    }

    private timeOf(x: number): number {
        return this.from + (x - this.left) * this.timeOfPixel();
    }

    private hueOf(thread: number): string {
        const rank = this.rankOf[thread];
        const hue = (205 + rank * 137.508) % 360;
        return rank < kNamedHues ? `hsl(${hue} ${isDark() ? 55 : 62}% ${isDark() ? 56 : 48}%)` : `hsl(${hue} 32% ${isDark() ? 50 : 58}%)`;
    }

    private grey(): string {
        return isDark() ? '#4b535d' : '#c3c9d0';
    }

    private waiting(): string {
        return isDark() ? '#ffb454' : '#d97a00';
    }

    private colourOf(thread: number): string {
        return thread < 0 || this.found?.has(thread) === false || (this.marked >= 0 && thread !== this.marked) ? this.grey() : this.hueOf(thread);
    }

    // The first of the spans (ascending) that ends behind the time.
    private firstEndingBehind(spans: number[], time: number): number {
        let low = 0;
        let high = spans.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.begin[spans[middle]] + this.length[spans[middle]] <= time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    protected override draw(context: CanvasRenderingContext2D): void {
        if (this.begin.length === 0) {
            this.text(context, 'no runs', this.width / 2, this.height / 2, 'center');
            return;
        }
        const end = this.width - kLane.right;
        const ticks = ticksOf(this.from, this.to, Math.max(2, Math.floor((end - this.left) / 80)));
        context.fillStyle = this.ink.line;
        ticks.forEach((tick) => context.fillRect(this.xOf(tick), kLane.top - 6, 1, this.height));
        const range = this.to - this.from < 2e6 ? this.to - this.from : this.to;
        this.labels(context, ticks.map((tick) => [this.xOf(tick), durationText(tick, range)]), kLane.top - 10, this.left - 30, this.width);
        this.drawn = 0;
        this.lanes().forEach((lane, i) => this.drawLane(context, lane, kLane.top + i * (this.laneHeight + kLane.gap), end));
        for (const item of [this.hovered, this.selected]) {
            if (item >= 0) {
                const row = this.isByThread ? this.rankOf[this.thread[item]] : this.cpu[item];
                const left = Math.max(this.xOf(this.begin[item]), this.left);
                const right = Math.min(this.xOf(this.begin[item] + this.length[item]), end);
                if (right >= this.left && left <= end && row !== undefined) {
                    this.outline(context, left, kLane.top + row * (this.laneHeight + kLane.gap), right - left, this.laneHeight);
                }
            }
        }
    }

    private drawLane(context: CanvasRenderingContext2D, lane: DrawnLane, top: number, end: number): void {
        context.fillStyle = this.ink.field;
        context.fillRect(this.left, top, end - this.left, this.laneHeight);
        this.text(context, lane.name, this.left - 8, top + this.laneHeight / 2 + 4, 'right', this.ink.text, this.left - 12);
        let taken = this.left;
        for (let i = this.firstEndingBehind(lane.spans, this.from); i < lane.spans.length; i++) {
            const span = lane.spans[i];
            if (this.begin[span] >= this.to) {
                break;
            }
            const start = this.xOf(this.begin[span]);
            const left = Math.max(start, taken);
            const right = Math.min(Math.max(this.xOf(this.begin[span] + this.length[span]), start + 0.7), end);
            if (right <= left) {
                continue;
            }
            context.fillStyle = this.colourOf(this.thread[span]);
            context.fillRect(left, top, right - left, this.laneHeight);
            taken = right;
            this.drawn++;
            if (this.isByThread && this.preempted[span]) {
                this.drawWait(context, lane.spans, i, top, end);
            }
            if (right - left > kLeastLabelPixels) {
                const label = this.isByThread ? this.laneNames[this.cpu[span]] : this.nameOf(span);
                this.text(context, label, left + 4, top + this.laneHeight / 2 + 4, 'left', inkOn(context, this.colourOf(this.thread[span])), right - left - 8);
            }
        }
    }

    // The longest run of the threads that a search finds; -1: none.
    longestFound(): number {
        return this.thread.reduce((best, thread, i) => this.found?.has(thread) && (best < 0 || this.length[i] > this.length[best]) ? i : best, -1);
    }

    // From a preempted run to the next one the thread waits for a CPU.
    private drawWait(context: CanvasRenderingContext2D, spans: number[], i: number, top: number, end: number): void {
        const from = this.xOf(this.begin[spans[i]] + this.length[spans[i]]);
        const to = i + 1 < spans.length ? this.xOf(this.begin[spans[i + 1]]) : end;
        context.fillStyle = this.waiting();
        context.fillRect(Math.max(from, this.left), top + this.laneHeight - 3, Math.max(Math.min(to, end) - Math.max(from, this.left), 0), 3);
    }

    private nameOf(span: number): string {
        return this.thread[span] < 0 ? this.runs[span] + ' short runs of several threads' : this.threads.name[this.thread[span]];
    }

    protected override itemAt(x: number, y: number): number {
        const row = Math.floor((y - kLane.top) / (this.laneHeight + kLane.gap));
        const lane = this.lanes()[row];
        if (x < this.left || !lane || y < kLane.top || (y - kLane.top) % (this.laneHeight + kLane.gap) > this.laneHeight) {
            return -1;
        }
        const pixel = this.timeOfPixel();
        const time = this.timeOf(x);
        const span = lane.spans[this.firstEndingBehind(lane.spans, time - pixel)];
        return span !== undefined && this.begin[span] <= time + pixel ? span : -1;
    }

    protected override firstItem(): number {
        const lane = this.lanes().find((one) => one.spans.length > 0);
        return lane ? lane.spans[Math.min(this.firstEndingBehind(lane.spans, this.from), lane.spans.length - 1)] : -1;
    }

    protected override neighbour(item: number, key: string): number {
        const lanes = this.lanes();
        const row = this.isByThread ? this.rankOf[this.thread[item]] : this.cpu[item];
        if (key === 'ArrowLeft' || key === 'ArrowRight') {
            const spans = lanes[row].spans;
            return spans[spans.indexOf(item) + (key === 'ArrowLeft' ? -1 : 1)] ?? -1;
        }
        const by = key === 'ArrowUp' ? -1 : 1;
        for (let next = row + by; lanes[next]; next += by) {
            const { spans } = lanes[next];
            if (spans.length > 0) {
                return spans[Math.min(this.firstEndingBehind(spans, this.begin[item]), spans.length - 1)];
            }
        }
        return -1;
    }

    override describe(i: number): string[] {
        const why = this.isSampled || this.runs[i] > 1 ? '' : this.preempted[i] ? ', then preempted: it could have gone on' : ', then it waited or ended';
        return [this.nameOf(i), this.laneNames[this.cpu[i]] + ', at ' + durationText(this.begin[i]) + (this.runs[i] > 1 ? ', ' + this.runs[i] + ' runs' : ''), 'for ' + durationText(this.length[i]) + why];
    }

    // Of threads.
    override rows(): number[] {
        return [...this.threads.name.keys()];
    }

    override table(): ChartTable {
        const { name, running_ns: running, runs, longest_ns: longest, preempted } = this.threads;
        const duration = (values: number[]) => (i: number) => durationText(values[i], values[i], kTableDigits);
        return {
            title: 'Threads',
            isDown: true,
            columns: [
                { title: 'thread', isText: true, isPicked: true, value: (i) => name[i], text: (i) => name[i] },
                { title: 'running', isSorted: true, value: (i) => running[i], text: duration(running) },
                { title: 'runs', value: (i) => runs[i], text: (i) => formatCount(runs[i]) },
                { title: 'longest', value: (i) => longest[i], text: duration(longest) },
                { title: 'preempt.', value: (i) => preempted[i], text: (i) => this.isSampled ? '-' : formatCount(preempted[i]) },
            ],
        };
    }

    // ---- zoom

    show(from: number, to: number): void {
        const size = Math.min(Math.max(to - from, 100), this.duration);
        this.from = Math.max(0, Math.min(from, this.duration - size));
        this.to = this.from + size;
        this.drawNow();
        this.pointAgain();
        this.host.onZoom();
    }

    isWhole(): boolean {
        return this.from <= 0 && this.to >= this.duration;
    }

    private zoomAt(time: number, factor: number): void {
        this.show(time - (time - this.from) * factor, time + (this.to - time) * factor);
    }

    private wheel(event: WheelEvent): void {
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            this.zoomAt(this.timeOf(event.offsetX), Math.exp(event.deltaY / 300));
        } else if (event.deltaX !== 0) {
            event.preventDefault();
            const by = event.deltaX / this.width * (this.to - this.from);
            this.show(this.from + by, this.to + by);
        }
    }

    override onDrag(dx: number): void {
        const by = -dx * this.timeOfPixel();
        this.show(this.from + by, this.to + by);
    }

    override onPinch(factor: number, x: number): void {
        this.zoomAt(this.timeOf(x), factor);
    }

    private timeOfPixel(): number {
        return (this.to - this.from) / (this.width - this.left - kLane.right);
    }

    protected override key(event: KeyboardEvent): void {
        const middle = (this.from + this.to) / 2;
        if (event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        const by = (this.to - this.from) / 4 * (event.key === 'ArrowLeft' ? -1 : 1);
        if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
            this.show(this.from + by, this.to + by);
        } else if (event.key === '+' || event.key === '=') {
            this.zoomAt(middle, 0.5);
        } else if (event.key === '-') {
            this.zoomAt(middle, 2);
        } else if (event.key === 'Enter' && this.selected >= 0) {
            const size = this.length[this.selected] * 4;
            this.show(this.begin[this.selected] - size / 2, this.begin[this.selected] + size);
        } else {
            super.key(event);
            return;
        }
        event.preventDefault();
    }

    override select(item: number): void {
        super.select(item);
        // Moved out of the window: the window follows.
        if (item >= 0 && (this.begin[item] + this.length[item] < this.from || this.begin[item] > this.to)) {
            const size = this.to - this.from;
            this.show(this.begin[item] - size / 4, this.begin[item] + 3 * size / 4);
        }
    }
}
