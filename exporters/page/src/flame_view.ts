// A profile as a flame graph, icicles, inverted, or with the callers and callees of one function; with its samples over
// time, its functions, and the selection. Connects these parts.
import { Graph, type GraphHost } from './canvas.js';
import { type Coloring, Colours } from './colours.js';
import type { FlameData } from './data.js';
import { make, makeButton, makeChoice, makeTerms, showSwatches } from './dom.js';
import template from './flame_view.html';
import { formatAmount, formatCount, formatNumber, formatPercent } from './format.js';
import { changed, numberOf } from './link.js';
import { Profile, type Verdict } from './names.js';
import { type Interval, shareInterval } from './statistics.js';
import { TimeStrip } from './strip.js';
import { type Column, Table } from './table.js';
import { isDark } from './theme.js';
import { hideTip, showTip } from './tip.js';
import { calledFramesOf, calleesOf, callersOf, type Compare, functionSums, invertedOf, largestFrame, makeTree, outermostFrames, restrictedTo, sourcesOf, type Sums, totalsOf, type Tree } from './tree.js';
import { type State, View, type ViewLink } from './view.js';

const kFunctionsOffered = 500;
const kLegendMax = 8;
const kLayouts = ['flame', 'icicle', 'inverted', 'sandwich'] as const;
const kChoices = ['colour', 'order', 'width'] as const;
const kCommandMax = 60;
const kIdDigits = 8;  // of a session, as in tables

type Layout = typeof kLayouts[number];

let listCount = 0;

export class FlameView extends View implements GraphHost {
    override readonly keys = [
        ['Arrow keys', 'to callers, callees and neighbours'],
        ['Enter, click', 'zoom to the frame'],
        ['Escape, 0', 'show all'],
        ['Backspace', 'zoom out to the caller'],
        ['+ and -, Ctrl and wheel, pinch', 'zoom'],
        ['drag', 'move what is zoomed'],
        ['/, then Enter', 'search, and go to the largest match'],
        ['n N', 'the next and the previous one, by size'],
        ['f i v s', 'flame graph, icicle graph, inverted graph, sandwich of the function'],
    ] as const;
    private readonly profile: Profile;
    private readonly tree: Tree;
    private readonly beforeTree: Tree | null;  // the same frames, with the samples before the change
    private readonly beforeSums: Sums | null;
    private readonly colours: Colours;
    private readonly commands: Int32Array;  // of frames
    private readonly graph: Graph;
    private readonly callers: Graph;
    private readonly search = this.part<HTMLInputElement>('search');
    private readonly showLayout: (index: number) => void;
    private readonly compare: Compare;
    private readonly strip: TimeStrip | undefined;
    private readonly table: Table;
    private readonly atFirst: State;
    private slices: [from: number, to: number];
    private sums: Sums;
    private listed: Sums;
    private listedBefore: Sums | null;
    private listedWithin = '';  // as zoomKey()
    private listedRoots = [0];  // frames of the tree, at and below which functions are listed
    private listedKept: ReadonlySet<number> | null = null;  // frames whose own samples are listed; null: of all
    private found: Uint8Array | null = null;
    private layout: Layout = 'flame';
    private coloring: Coloring | 'change' = 'image';
    private inverted: Tree | null = null;
    private sandwiched = -1;
    private chosen = { frame: -1, number: -1 };  // selected last: of the tree, and its function
    private active: Graph;

    constructor(root: HTMLElement, readonly data: FlameData, link: ViewLink) {
        super(root, template, data, link);
        const profile = this.profile = new Profile(data);
        this.slices = [0, profile.slices.count];
        this.tree = makeTree(profile.frameDepth, profile.frameFunction, profile.selfOf(...this.slices));
        this.sums = this.listed = functionSums(this.tree, profile.functionCount);
        const beforeSelf = profile.before ? profile.selfOf(profile.slices.count, profile.sliceTotals.length) : null;
        this.beforeTree = beforeSelf && { ...this.tree, self: beforeSelf, total: totalsOf(this.tree.parent, beforeSelf) };
        this.beforeSums = this.listedBefore = this.beforeTree && functionSums(this.beforeTree, profile.functionCount);
        this.colours = new Colours(profile, this.sums);
        this.commands = this.commandsOf(this.tree);
        this.graph = new Graph(this.part('main-graph'), this, this.ended.signal);
        this.callers = new Graph(this.part('callers-graph'), this, this.ended.signal);
        this.active = this.graph;
        this.compare = (a, b) => profile.name(a) < profile.name(b) ? -1 : profile.name(a) > profile.name(b) ? 1 : a - b;
        this.showLayout = makeChoice(kLayouts.map((layout) => this.part('view-' + layout)), (index) => this.setLayout(kLayouts[index]));
        this.describe();
        this.strip = this.makeStrip();
        this.table = this.makeTable();
        this.showRange();
        this.listen();
        this.show(false);
        this.onSelect(this.graph, 0);
        this.atFirst = changed(this.words(), {});
        this.follow(link.state);
        this.isMounted = true;
    }

    // ---- links

    private words(): Record<string, string | number | null> {
        const isPart = this.strip?.isWhole() === false;
        return {
            view: this.layout,
            function: this.layout === 'sandwich' ? this.profile.name(this.sandwiched) : null,
            colour: this.choice('colour').value,
            order: this.choice('order').value,
            width: this.choice('width').value,
            search: this.search.value.trim() || null,
            from: isPart ? this.slices[0] : null,
            to: isPart ? this.slices[1] : null,
            zoom: this.graph.focus || null,
        };
    }

    override state(): State {
        return changed(this.words(), this.atFirst);
    }

    private choice(name: typeof kChoices[number]): HTMLSelectElement {
        return this.part<HTMLSelectElement>(name);
    }

    override follow(link: State): void {
        const state: State = { ...this.atFirst, ...link };
        for (const name of kChoices) {
            const known = [...this.choice(name).options].some((one) => one.value === state[name] && !one.disabled);
            this.choice(name).value = known ? state[name] : this.atFirst[name];
        }
        this.layout = kLayouts.find((layout) => layout === state.view) ?? 'flame';
        if (this.layout === 'sandwich' && state.function) {
            this.sandwiched = this.functionNamed(state.function) ?? this.sandwiched;
        }
        const from = numberOf(state.from, 0, this.profile.slices.count);
        const to = numberOf(state.to, 0, this.profile.slices.count);
        const isPart = from !== null && to !== null && from < to;
        this.strip?.select(isPart ? from : 0, isPart ? to : this.profile.slices.count);
        this.search.value = state.search ?? '';
        this.find(this.search.value);
        this.show(false);
        const zoom = numberOf(state.zoom, 1, this.graph.tree.count - 1);
        if (zoom !== null && this.graph.total[zoom] > 0) {
            this.graph.zoomTo(zoom);
            this.graph.select(zoom);
        }
    }

    private functionNamed(name: string): number | undefined {
        for (let i = 0; i < this.profile.functionCount; i++) {
            if (!this.profile.isCommand(i) && this.profile.name(i) === name) {
                return i;
            }
        }
        return undefined;
    }

    // ---- texts

    private describe(): void {
        const { sessions, session_count: count, event } = this.data;
        const targets = new Set(sessions.map((session) => session.target));
        const commands = new Set(sessions.map((session) => session.command));
        const named = sessions.length === 1 ? 'session ' + (sessions[0].name || sessions[0].id.slice(0, kIdDigits)) : formatNumber(count, 'session') + ' of ' + formatNumber(targets.size, 'target');
        const command = commands.size === 1 ? [...commands][0] : '';
        const time = count > 0 ? ', ' + new Date(this.profile.slices.startMs).toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : '';
        this.part('subtitle').textContent = `${this.amount(this.tree.total[0])}, event ${event}, ${named}${time}` + (command === '' ? '' : ': ' + (command.length > kCommandMax ? command.slice(0, kCommandMax) + '\u2026' : command)) +
            (this.beforeTree ? `; compared with ${this.amount(this.beforeTree.total[0])} ${this.nameOfBefore()}` : '');
        this.part('subtitle').title = command;
    }

    private amount(value: number): string {
        return formatAmount(value, this.data.unit);
    }

    private nameOfBefore(): string {
        return this.data.before?.name ?? '';
    }

    private legend(): [colour: string, text: string][] {
        const dark = isDark();
        const by = this.coloring;
        if (by === 'change') {
            return [[Colours.ofChange(1, 0.1, dark), 'more than ' + this.nameOfBefore()], [Colours.ofChange(-1, 0.1, dark), 'less than ' + this.nameOfBefore()],
                [Colours.ofChange(0, 0, dark), 'no difference shown: noise, or too few samples']];
        }
        const keys = new Map<string, { value: number; number: number }>();
        for (let i = 0; i < this.profile.functionCount; i++) {
            const key = this.colours.keyOf(by, i);
            const known = keys.get(key) ?? { value: 0, number: i };
            if (key !== '') {
                keys.set(key, { value: known.value + (by === 'command' ? this.sums.total[i] : this.sums.self[i]), number: known.number });
            }
        }
        const largest = [...keys].filter(([, { value }]) => value > 0).sort((a, b) => b[1].value - a[1].value).slice(0, kLegendMax);
        return largest.map(([key, { number }]) => [this.colours.of(by, number, number, dark), key]);
    }

    // ---- callbacks of the graphs

    labelOf(frame: number, graph: Graph): string {
        return this.profile.name(graph.tree.functions[frame]);
    }

    fillOf(frame: number, graph: Graph, dark: boolean): string {
        const number = graph.tree.functions[frame];
        const isOfTree = graph.tree === this.tree;
        if (this.coloring === 'change') {
            const verdict = graph.tree === this.inverted ? this.verdictInside(frame) : this.verdictOf(number);
            return Colours.ofChange(verdict?.change ?? 0, isOfTree ? this.pointsOf(frame) : 0.1, dark);
        }
        // Only frames of the tree are of one command.
        return this.colours.of(this.coloring === 'command' && !isOfTree ? 'image' : this.coloring, number, this.commands[frame], dark);
    }

    private commandsOf(tree: Tree): Int32Array {
        const commands = new Int32Array(tree.count).fill(-1);
        for (let i = 1; i < tree.count; i++) {
            commands[i] = tree.depth[i] === 1 ? tree.functions[i] : commands[tree.parent[i]];
        }
        return commands;
    }

    private verdictOf(number: number): Verdict | undefined {
        const verdict = this.profile.verdicts.get(number);
        return verdict?.total ?? verdict?.self;
    }

    // The verdict on a frame of the inverted graph, whose samples are its innermost function's own.
    private verdictInside(frame: number): Verdict | undefined {
        return this.profile.verdicts.get(this.innermostOf(frame))?.self;
    }

    private innermostOf(frame: number): number {
        const { parent, functions } = this.inverted!;
        while (parent[frame] > 0) {
            frame = parent[frame];
        }
        return functions[frame];
    }

    // Difference of a frame's shares.
    private pointsOf(frame: number): number {
        return this.share(this.tree.total[frame]) - this.shareBefore(this.beforeTree!.total[frame]);
    }

    // ---- layouts

    private shownTotal(): Float64Array {
        return this.beforeTree && this.choice('width').value === 'before' ? this.beforeTree.total : this.tree.total;
    }

    private show(keepZoom: boolean): void {
        this.coloring = this.choice('colour').value as Coloring | 'change';
        const isSandwich = this.layout === 'sandwich';
        this.showLayout(kLayouts.indexOf(this.layout));
        this.part('callers-graph').hidden = !isSandwich;
        this.part('sandwich-head').hidden = !isSandwich;
        const bySize = this.choice('order').value === 'size';
        if (isSandwich) {
            this.showSandwich(bySize, keepZoom);
        } else if (this.layout === 'inverted') {
            this.inverted = invertedOf(this.tree, this.compare);
            this.graph.show(this.inverted, this.inverted.total, { isFlame: true, bySize, keepZoom });
        } else {
            this.graph.show(this.tree, this.shownTotal(), { isFlame: this.layout === 'flame', bySize, keepZoom });
        }
        showSwatches(this.part('legend'), this.legend());
        this.showSearchResult();
        this.note();
    }

    private showSandwich(bySize: boolean, keepZoom: boolean): void {
        if (this.sandwiched < 0) {
            this.sandwiched = this.sums.self.reduce((best, value, i) => value > this.sums.self[best] ? i : best, 0);
        }
        const number = this.sandwiched;
        this.part<HTMLInputElement>('sandwich-function').value = this.profile.name(number);
        this.part('sandwich-text').textContent = `${this.amount(this.sums.total[number])}, ${formatPercent(this.share(this.sums.total[number]))}: callers above, callees below`;
        const callers = callersOf(this.tree, number, this.compare);
        const callees = calleesOf(this.tree, number, this.compare);
        this.graph.show(callees, callees.total, { isFlame: false, bySize, keepZoom });
        this.callers.show(callers, callers.total, { isFlame: true, bySize, keepZoom });
    }

    private setLayout(layout: Layout): void {
        if (layout === 'sandwich' && this.active.selected > 0) {
            this.sandwiched = this.active.tree.functions[this.active.selected];
        }
        const changes = layout !== this.layout;
        const keeps = changes && (layout === 'flame' || layout === 'icicle') && this.graph.tree === this.tree;
        this.layout = layout;
        this.show(keeps);
        this.active = this.graph;
        if (changes && !keeps) {
            this.chooseAgain();
        }
    }

    // Selects in another layout what was selected, or the largest frame of its function.
    private chooseAgain(): void {
        const { frame, number } = this.chosen;
        const { tree, total } = this.graph;
        const again = this.layout === 'sandwich' ? (number === this.sandwiched ? 0 : -1) : tree === this.tree && frame > 0 ? frame : largestFrame(tree, total, number);
        if (number >= 0 && again >= 0) {
            this.graph.select(again);
        }
    }

    private setSlices(from: number, to: number): void {
        this.slices = [from, to];
        this.tree.self = this.profile.selfOf(from, to);
        this.tree.total = totalsOf(this.tree.parent, this.tree.self);
        this.sums = functionSums(this.tree, this.profile.functionCount);
        this.show(true);
        this.fillTable();
        this.onSelect(this.active, this.active.selected);
        this.showRange();
    }

    private share(value: number): number {
        return value / Math.max(this.tree.total[0], 1);
    }

    private shareBefore(value: number): number {
        return value / Math.max(this.beforeTree!.total[0], 1);
    }

    // ---- intervals

    // The interval of the share of frames [frames], with their callees or alone; null: unknown.
    private interval(frames: number[], isSelf: boolean, kept: ReadonlySet<number> | null): Interval | null {
        if (!this.data.sampled) {
            return null;
        }
        const hits = this.slicesOf(frames, isSelf, kept);
        return shareInterval(hits, this.profile.sliceTotals, this.data.weight_of_one, ...this.slices, this.data.independent);
    }

    private slicesOf(frames: number[], isSelf: boolean, kept: ReadonlySet<number> | null = null): Float64Array {
        const hits = new Float64Array(this.profile.sliceTotals.length);
        for (const frame of frames) {
            const end = isSelf ? frame + 1 : this.tree.end[frame];
            for (let i = frame; i < end; i = kept ? i + 1 : end) {
                if (!kept || kept.has(i)) {
                    this.profile.addSlices(i, kept ? i + 1 : end, hits);
                }
            }
        }
        return hits;
    }

    private shareText(value: number, frames: number[], isSelf: boolean, kept: ReadonlySet<number> | null = null): string {
        const interval = this.interval(frames, isSelf, kept);
        return formatPercent(this.share(value)) + (interval ? `  [${(100 * interval.low).toFixed(2)}, ${(100 * interval.high).toFixed(2)}]` : '');
    }

    private framesOf(number: number, first = 0): number[] {
        const frames: number[] = [];
        for (let i = first; i < this.tree.end[first]; i++) {
            if (this.tree.functions[i] === number) {
                frames.push(i);
            }
        }
        return frames;
    }

    // ---- selected frame, tip

    onHover(graph: Graph, frame: number, event: PointerEvent): void {
        if (frame < 0 || event.pointerType === 'touch') {
            hideTip();
            return;
        }
        const number = graph.tree.functions[frame];
        const lines: (string | undefined)[] = [this.profile.image(number), this.countText(graph.tree, frame)];
        if (this.beforeTree && graph.tree === this.tree) {
            lines.push(this.nameOfBefore() + ' ' + this.beforeText(frame), this.verdictOf(number)?.text);
        } else if (this.beforeTree && graph.tree === this.inverted) {
            lines.push(this.nameOfBefore() + ' ' + this.beforeInsideText(frame), this.verdictInside(frame)?.text);
        }
        showTip(event, this.profile.name(number), lines.filter((line) => line !== undefined && line !== '') as string[]);
    }

    private countText(tree: Tree, frame: number): string {
        const text = (value: number) => `${this.amount(value)}, ${formatPercent(this.share(value))}`;
        // The whole of an inverted frame is its innermost function's own time.
        return text(tree.total[frame]) + (tree === this.inverted ? '' : '; self ' + text(tree.self[frame]));
    }

    private changeText(share: number, before: number): string {
        const points = 100 * (share - before);
        return `${formatPercent(before)}, now ${points >= 0 ? '+' : ''}${points.toFixed(2)} points`;
    }

    private beforeText(frame: number): string {
        return this.changeText(this.share(this.tree.total[frame]), this.shareBefore(this.beforeTree!.total[frame]));
    }

    // Of a frame of the inverted graph.
    private beforeInsideText(frame: number): string {
        const value = sourcesOf(this.tree, this.inverted!, frame).reduce((sum, i) => sum + this.beforeTree!.self[i], 0);
        return this.changeText(this.share(this.inverted!.total[frame]), this.shareBefore(value));
    }

    onZoom(): void {
        this.note();
        if (this.isMounted && this.zoomKey() !== this.listedWithin) {
            this.fillTable();
        }
    }

    private zoomed(): Graph[] {
        return [this.graph, ...this.layout === 'sandwich' ? [this.callers] : []].filter((graph) => graph.focus > 0);
    }

    private zoomKey(): string {
        return this.zoomed().map((graph) => (graph === this.callers ? 'callers' : graph.tree === this.tree ? 'tree' : this.layout) + graph.focus).join();
    }

    onSelect(graph: Graph, frame: number): void {
        this.active = graph;
        const section = this.part('frame');
        if (frame < 0) {
            section.replaceChildren(make('p', '', 'Click a frame, or walk along frames with the arrow keys.'));
            this.strip?.mark(null);
            this.chosen = { frame: -1, number: -1 };
            return;
        }
        const { tree } = graph;
        const number = tree.functions[frame];
        const isOfTree = tree === this.tree;
        const isSame = number === this.chosen.number;
        this.chosen = { frame: isOfTree ? frame : isSame ? this.chosen.frame : -1, number };
        const terms: [string, string, string?][] = [];
        const add = (term: string, text: string, style?: string) => terms.push([term, text, style]);
        const isInverted = tree === this.inverted && frame > 0;
        const sources = isInverted ? sourcesOf(this.tree, tree, frame) : [];
        const amount = (value: number, share: string) => `${this.amount(value)}, ${share}`;
        if (number >= 0) {  // as in the list of functions
            add('total', amount(this.sums.total[number], this.shareText(this.sums.total[number], outermostFrames(this.tree, number), false)));
            add('self', amount(this.sums.self[number], this.shareText(this.sums.self[number], this.framesOf(number), true)));
        }
        const [total, self] = [tree.total[frame], tree.self[frame]];
        if (isInverted) {
            add('in this chain', amount(total, this.shareText(total, sources, true)));
        } else if (number < 0) {
            add('total', amount(total, formatPercent(this.share(total))));
        } else if (total !== this.sums.total[number] || self !== this.sums.self[number]) {
            add('this frame', amount(total, isOfTree ? this.shareText(total, [frame], false) : formatPercent(this.share(total))));
            add('its self', amount(self, isOfTree ? this.shareText(self, [frame], true) : formatPercent(this.share(self))));
        }
        if (tree.parent[frame] > 0) {
            add('of caller', formatPercent(total / Math.max(tree.total[tree.parent[frame]], 1)));
        }
        if (this.beforeTree && isOfTree) {
            add(this.nameOfBefore(), this.beforeText(frame));
            const verdict = this.profile.verdicts.get(number);
            for (const [figure, said] of Object.entries(verdict ?? {})) {
                add('diff, ' + figure, said.text, styleOf(said));
            }
        } else if (this.beforeTree && isInverted) {
            add(this.nameOfBefore(), this.beforeInsideText(frame));
            const verdict = this.verdictInside(frame);
            if (verdict) {
                add('diff, self of ' + this.profile.name(this.innermostOf(frame)), verdict.text, styleOf(verdict));
            }
        }
        const buttons = make('div', 'buttons');
        buttons.append(makeButton('Zoom', () => graph.zoomTo(frame)));
        if (number >= 0 && !this.profile.isCommand(number)) {
            buttons.append(makeButton('Callers and callees', () => this.setLayout('sandwich')));
        }
        buttons.append(makeButton('Copy name', () => navigator.clipboard?.writeText(this.profile.name(number)).catch(() => {})));
        const list = make('dl');
        list.append(...makeTerms(terms));
        const of = number < 0 ? 'everything that is selected' : this.profile.image(number) || 'command';
        section.replaceChildren(make('h2', '', this.profile.name(number)), make('p', '', of), list, buttons);
        this.say(`${this.profile.name(number)}, ${this.profile.image(number)}, ${this.countText(tree, frame)}, depth ${tree.depth[frame]}`);
        this.table.mark(number);
        this.strip?.mark(frame > 0 && (isOfTree || isInverted) ? this.slicesOf(isOfTree ? [frame] : sources, isInverted).subarray(0, this.profile.slices.count) : null);
    }

    // ---- time

    private makeStrip(): TimeStrip | undefined {
        const { slices, sliceTotals } = this.profile;
        const hasTime = slices.count >= 2;
        this.part('strip-section').hidden = !hasTime;
        return hasTime ? new TimeStrip(this.part<HTMLCanvasElement>('strip'), sliceTotals.subarray(0, slices.count), (from, to) => this.setSlices(from, to), this.ended.signal) : undefined;
    }

    private showRange(): void {
        const { startMs, widthMs } = this.profile.slices;
        const at = (slice: number) => new Date(startMs + slice * widthMs).toISOString();
        const seconds = (this.slices[1] - this.slices[0]) * widthMs / 1000;
        this.part('strip-text').textContent = `${at(this.slices[0])} to ${at(this.slices[1])}, ${seconds.toPrecision(3)} s, ${this.amount(this.tree.total[0])}` + (this.strip?.isWhole() === false ? ' (click the strip for all)' : '; drag to select a part');
    }

    // ---- table

    private makeTable(): Table {
        const column = (title: string, values: () => Float64Array, framesOf: (number: number, first: number) => number[], isSelf: boolean): Column => ({
            title, isSorted: isSelf, value: (i) => values()[i], text: (i) => (100 * this.share(values()[i])).toFixed(2),
            hint: (i) => `${this.amount(values()[i])}, ${this.shareText(values()[i], this.listedRoots.flatMap((first) => framesOf(i, first)), isSelf, this.listedKept)}`,
        });
        const columns = [
            column('self %', () => this.listed.self, (i, first) => this.framesOf(i, first), true),
            column('total %', () => this.listed.total, (i, first) => outermostFrames(this.tree, i, first), false),
        ];
        if (this.beforeTree) {
            const change = (i: number) => this.share(this.listed.total[i]) - this.shareBefore(this.listedBefore!.total[i]);
            columns.push({
                title: 'change', value: (i) => this.verdictOf(i)?.change ? Math.abs(change(i)) + 1 : Math.abs(change(i)) * 1e-3, text: (i) => (change(i) >= 0 ? '+' : '') + (100 * change(i)).toFixed(2),
                style: (i) => styleOf(this.verdictOf(i)), hint: (i) => this.verdictOf(i)?.text ?? 'fewer samples than diff compares',
            });
        }
        columns.push({ title: 'function', isText: true, isPicked: true, value: (i) => this.profile.name(i), text: (i) => this.profile.name(i) });
        columns.push({ title: 'image', isText: true, value: (i) => this.profile.image(i), text: (i) => this.profile.image(i).split('/').pop()! });
        const table = new Table(this.part('list'), 'Functions', columns, true, (number) => {
            this.sandwiched = number;
            this.graph.selected = this.callers.selected = -1;
            this.setLayout('sandwich');
            this.graph.select(0);
        });
        const offered = this.functionNumbers().sort((a, b) => this.sums.total[b] - this.sums.total[a]).slice(0, kFunctionsOffered);
        const list = this.part('function-list');
        list.id = 'perfleet-functions-' + listCount++;  // a list is found by its id alone
        this.part('sandwich-function').setAttribute('list', list.id);
        list.replaceChildren(...offered.map((number) => new Option(this.profile.name(number))));
        return table;
    }

    private functionNumbers(): number[] {
        const numbers: number[] = [];
        for (let i = 0; i < this.profile.functionCount; i++) {
            if (!this.profile.isCommand(i) && (this.listed.total[i] > 0 || (this.listedBefore?.total[i] ?? 0) > 0) && (!this.found || this.found[i])) {
                numbers.push(i);
            }
        }
        return numbers;
    }

    private fillTable(): void {
        const { tree, focus } = this.graph;
        const zoomed = this.zoomed();
        const isPart = zoomed.length > 0;
        const kept = this.listedKept = isPart && tree === this.inverted ? new Set(sourcesOf(this.tree, tree, focus)) : null;
        const roots = this.listedRoots = !isPart || kept ? [0] : tree === this.tree ? [focus] : calledFramesOf(this.tree, tree, focus, this.callers.tree, this.callers.focus);
        const sums = (of: Tree) => functionSums(kept ? restrictedTo(of, kept) : of, this.profile.functionCount, roots);
        this.listedWithin = this.zoomKey();
        this.listed = isPart ? sums(this.tree) : this.sums;
        this.listedBefore = isPart && this.beforeTree ? sums(this.beforeTree) : this.beforeSums;
        const numbers = this.functionNumbers();
        const within = zoomed.map((graph, i) => (i === 0 ? ' within ' : ' of ') + this.profile.name(graph.tree.functions[graph.focus])).join('');
        this.table.show(numbers, `(${formatCount(numbers.length)}${within}; 95 % intervals on hover)`);
    }

    // ---- search

    private find(text: string): void {
        const trimmed = text.trim();
        this.found = null;
        let isBad = false;
        if (trimmed !== '') {
            let matches = (name: string) => name.toLowerCase().includes(trimmed.toLowerCase());
            if (trimmed.length > 2 && trimmed.startsWith('/') && trimmed.endsWith('/')) {
                try {
                    const pattern = new RegExp(trimmed.slice(1, -1), 'i');
                    matches = (name) => pattern.test(name);
                } catch {
                    isBad = true;
                }
            }
            if (!isBad) {
                this.found = Uint8Array.from({ length: this.profile.functionCount }, (_, i) => matches(this.profile.name(i)) ? 1 : 0);
            }
        }
        this.search.setAttribute('aria-invalid', String(isBad));
        this.showSearchResult(isBad);
        this.fillTable();
        this.graph.mark(this.found);
        if (this.callers.tree) {
            this.callers.mark(this.found);
        }
        this.note();
    }

    private showSearchResult(isBad = false): void {
        const { tree, total } = this.graph;
        if (!this.found || isBad) {
            this.part('search-result').textContent = isBad ? 'no valid pattern' : '';
            return;
        }
        let frames = 0;
        let samples = 0;
        let until = 0;
        for (let i = 1; i < tree.count; i++) {
            if (this.found[tree.functions[i]] === 1 && total[i] > 0) {
                frames++;
                samples += i >= until ? total[i] : 0;
                until = Math.max(until, tree.end[i]);
            }
        }
        const functions = this.found.reduce((sum, one) => sum + one, 0);
        this.part('search-result').textContent = `${formatNumber(functions, 'function')}, ${formatNumber(frames, 'frame')}, ${formatPercent(samples / Math.max(total[0], 1))}`;
    }

    // By size: first to the largest match.
    private nextFound(step: number): void {
        const { found, selected, total } = this.graph;
        if (found?.length) {
            const bySize = [...found].sort((a, b) => total[b] - total[a] || a - b);
            const at = bySize.indexOf(selected);
            this.graph.select(bySize[at < 0 ? (step > 0 ? 0 : bySize.length - 1) : (at + step + bySize.length) % bySize.length]);
        }
    }

    // ---- events

    override draw(): void {
        this.graph.draw();
        this.callers.draw();
        this.strip?.draw();
        showSwatches(this.part('legend'), this.legend());
    }

    private listen(): void {
        const onClick = (name: string, act: () => void) => this.part(name).addEventListener('click', act);
        kChoices.forEach((name) => this.choice(name).addEventListener('change', () => this.show(true)));
        if (this.beforeTree) {
            const option = this.part<HTMLOptionElement>('colour option[value=change]');
            option.hidden = option.disabled = false;
            this.choice('colour').value = 'change';
            this.part('width-label').hidden = false;
        } else {
            this.choice('colour').value = this.colours.best();
        }
        this.search.addEventListener('input', () => this.find(this.search.value));
        this.search.addEventListener('keydown', (event) => {
            if (event.key === 'Enter') {
                this.nextFound(event.shiftKey ? -1 : 1);
            } else if (event.key === 'Escape') {
                this.search.value = '';
                this.find('');
                this.graph.canvas.focus();
            }
        });
        onClick('search-next', () => this.nextFound(1));
        onClick('search-previous', () => this.nextFound(-1));
        onClick('reset', () => this.reset());
        const sandwich = this.part<HTMLInputElement>('sandwich-function');
        sandwich.addEventListener('change', () => {
            const number = this.functionNamed(sandwich.value);
            if (number !== undefined) {
                this.sandwiched = number;
                this.show(false);
            }
        });
        this.listenToKeys({
            '/': () => this.search.focus(),
            n: () => this.nextFound(1),
            N: () => this.nextFound(-1),
            f: () => this.setLayout('flame'),
            i: () => this.setLayout('icicle'),
            v: () => this.setLayout('inverted'),
            s: () => this.setLayout('sandwich'),
            0: () => this.reset(),
            Escape: () => this.reset(),
        });
    }

    private reset(): void {
        this.graph.zoomTo(0, true);
        if (this.layout === 'sandwich') {
            this.callers.zoomTo(0, true);
        }
    }
}

function styleOf(verdict: Verdict | undefined): string {
    return !verdict?.change ? 'noise' : verdict.change > 0 ? 'more' : 'less';
}
