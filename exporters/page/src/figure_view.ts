// Figures: a chart, its selected item, and the table beside it.
import type { Chart, ChartHost } from './chart.js';
import type { FigureData, HeatMapData, HistogramData, ScheduleData } from './data.js';
import { make, makeChoice, makeTerms, showSwatches } from './dom.js';
import template from './figure_view.html';
import { formatCount, formatNumber } from './format.js';
import { HeatMapChart } from './heat_map_chart.js';
import { HistogramChart } from './histogram_chart.js';
import { changed, numberOf } from './link.js';
import { ScheduleChart } from './schedule_chart.js';
import { Table } from './table.js';
import { hideTip, showTip } from './tip.js';
import { type State, View, type ViewLink } from './view.js';

type ChartMaker<Data, Kind> = new (container: HTMLElement, host: ChartHost, data: Data, signal: AbortSignal) => Kind;

abstract class FigureView<Data extends FigureData, Kind extends Chart> extends View implements ChartHost {
    override readonly keys: readonly (readonly [string, string])[] = [['Arrow keys', 'to neighbours'], ['Escape', 'select nothing']];
    readonly chart: Kind;
    private readonly table: Table;
    private readonly showLayout: (index: number) => void;
    private atFirst: State = {};

    // `item`: name of the chart's items.
    constructor(root: HTMLElement, readonly data: Data, link: ViewLink, maker: ChartMaker<Data, Kind>, private readonly item: string) {
        super(root, template, data, link);
        this.element.classList.add('figure', data.kind.replace(' ', '-'));
        this.part('subtitle').textContent = data.subtitle;
        this.part('figures').append(...makeTerms(data.figures));
        this.part('figures-section').hidden = data.figures.length === 0;
        this.chart = new maker(this.part('main-graph'), this, data, this.ended.signal);
        this.chart.canvas.setAttribute('aria-label', data.kind + ': arrow keys walk, Escape selects nothing');
        const { title, columns, isDown } = this.chart.table();
        this.table = new Table(this.part('list'), title, columns, isDown, (row) => this.pick(row));
        this.fillTable();
        this.showLayout = this.addLayouts();
    }

    // To be called last in a subclass's constructor.
    protected begin(): void {
        this.atFirst = this.words();
        this.follow(this.link.state);
        this.isMounted = true;
    }

    protected words(): State {
        const { layouts, layout, selected } = this.chart;
        return changed({ view: layouts[layout]?.name.toLowerCase(), item: selected < 0 ? null : selected }, {});
    }

    override state(): State {
        return changed(this.words(), this.atFirst);
    }

    override follow(state: State): void {
        const named = (name: string | undefined) => this.chart.layouts.findIndex((layout) => layout.name.toLowerCase() === name);
        this.setLayout(named(state.view) < 0 ? named(this.atFirst.view) : named(state.view));
        this.chart.select(numberOf(state.item, 0, this.chart.count - 1) ?? -1);
    }

    override draw(): void {
        this.chart.drawNow();
        showSwatches(this.part('legend'), this.chart.legend());
    }

    private addLayouts(): (index: number) => void {
        const group = this.part('layouts');
        const { layouts } = this.chart;
        group.hidden = layouts.length === 0;
        group.append(...layouts.map(({ name, title }) => {
            const button = make('button', 'view-' + name.toLowerCase(), name);
            button.type = 'button';
            button.title = title;
            button.setAttribute('role', 'radio');
            return button;
        }));
        return makeChoice([...group.children] as HTMLElement[], (index) => this.setLayout(index));
    }

    private setLayout(index: number): void {
        const hadRows = this.chart.count;
        this.chart.layout = Math.max(index, 0);
        this.showLayout(this.chart.layout);
        if (this.chart.count !== hadRows) {
            this.chart.select(-1);
            this.fillTable();
        }
        this.draw();
        this.note();
    }

    protected fillTable(isShown: (row: number) => boolean = () => true): void {
        const rows = this.chart.rows().filter(isShown);
        this.table.show(rows, formatCount(rows.length));
    }

    protected pick(row: number): void {
        this.chart.select(row);
    }

    // The row of the table that stands for an item.
    protected rowOf(item: number): number {
        return item;
    }

    protected mark(row: number): void {
        this.table.mark(row);
    }

    onHover(item: number, event: PointerEvent): void {
        if (item < 0 || event.pointerType === 'touch') {
            hideTip();
            return;
        }
        const [title, ...lines] = this.chart.describe(item);
        showTip(event, title, lines);
    }

    onSelect(item: number): void {
        const [title, ...lines] = item < 0 ? ['Select a ' + this.item, 'by pointer, or with the arrow keys'] : this.chart.describe(item);
        this.part('frame').replaceChildren(make('h2', '', title), ...lines.map((text) => make('p', '', text)));
        this.say(item < 0 ? '' : [title, ...lines].join('; '));
        this.mark(this.rowOf(item));
        this.note();
    }

    onZoom(): void {}
}

export class HistogramView extends FigureView<HistogramData, HistogramChart> {
    constructor(root: HTMLElement, data: HistogramData, link: ViewLink) {
        super(root, data, link, HistogramChart, 'bar');
        this.begin();
    }
}

export class HeatMapView extends FigureView<HeatMapData, HeatMapChart> {
    constructor(root: HTMLElement, data: HeatMapData, link: ViewLink) {
        super(root, data, link, HeatMapChart, 'cell');
        this.begin();
    }
}

export class ScheduleView extends FigureView<ScheduleData, ScheduleChart> {
    override readonly keys = [
        ['Arrow keys', 'to neighbours'],
        ['Escape', 'select nothing'],
        ['Enter', 'zoom to the run'],
        ['+ and -, Ctrl and wheel, double click', 'zoom'],
        ['drag, Shift and arrow keys', 'move along the time'],
        ['0', 'show all'],
        ['/, then Enter', 'search a thread, and go to its longest run'],
    ] as const;
    private readonly search = this.part<HTMLInputElement>('search');

    constructor(root: HTMLElement, data: ScheduleData, link: ViewLink) {
        super(root, data, link, ScheduleChart, 'run');
        const showAll = () => this.chart.show(0, this.chart.duration);
        this.part('searching').hidden = this.part('reset').hidden = false;
        this.part('reset').addEventListener('click', showAll);
        this.search.addEventListener('input', () => this.find(this.search.value));
        this.search.addEventListener('keydown', (event) => {
            if (event.key === 'Enter') {
                this.chart.select(this.chart.longestFound());
            }
        });
        this.listenToKeys({ '/': () => this.search.focus(), 0: showAll });
        this.begin();
    }

    protected override words(): State {
        const { from, to, duration } = this.chart;
        const isPart = !this.chart.isWhole();
        return changed({ ...super.words(), search: this.search.value.trim() || null, from: isPart ? Math.round(from) : null, to: isPart ? Math.min(Math.round(to), duration) : null }, {});
    }

    override follow(state: State): void {
        const { duration } = this.chart;
        const [from, to] = [numberOf(state.from, 0, duration), numberOf(state.to, 0, duration)];
        const isPart = from !== null && to !== null && from < to;
        this.find(this.search.value = state.search ?? '');
        this.chart.show(isPart ? from : 0, isPart ? to : duration);
        super.follow(state);
    }

    private find(text: string): void {
        const { name } = this.chart.threads;
        const wanted = text.trim().toLowerCase();
        const found = new Set([...name.keys()].filter((i) => name[i].toLowerCase().includes(wanted)));
        this.chart.found = wanted === '' ? null : found;
        this.part('search-result').textContent = wanted === '' ? '' : formatNumber(found.size, 'thread');
        this.draw();
        this.fillTable((thread) => found.has(thread));
        this.note();
    }

    // Shows where a thread ran.
    protected override pick(thread: number): void {
        this.chart.marked = this.chart.marked === thread ? -1 : thread;
        this.draw();
        this.mark(this.chart.marked);
    }

    protected override rowOf(item: number): number {
        return item < 0 ? this.chart.marked : this.chart.thread[item];
    }

    override onZoom(): void {
        this.part('zoom-text').textContent = this.chart.isWhole() ? '' : 'part of the time';
        this.note();
    }
}

export function figureView(root: HTMLElement, data: FigureData, link: ViewLink): HistogramView | HeatMapView | ScheduleView {
    return data.kind === 'histogram' ? new HistogramView(root, data, link) : data.kind === 'heat map' ? new HeatMapView(root, data, link) : new ScheduleView(root, data, link);
}
