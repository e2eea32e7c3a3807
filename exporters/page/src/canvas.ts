// A call tree on a canvas: draws its visible part; zoom, pointer and keyboard. The canvas is as high as its container;
// the container scrolls over as many rows as the tree has.
import { onResize, sizeCanvas } from './dom.js';
import { type GestureHost, listenToGestures } from './gestures.js';
import { frameAt, layOut, visitVisible } from './layout.js';
import { fitted, useFont } from './text.js';
import { isDark } from './theme.js';
import type { Tree } from './tree.js';

const kRowPixels = 20;
const kLeastPixels = 0.6;
const kLeastLabelPixels = 26;
const kMarkPixels = 3;  // of a match that is narrower

export interface GraphHost {
    labelOf(frame: number, graph: Graph): string;
    fillOf(frame: number, graph: Graph, dark: boolean): string;
    onHover(graph: Graph, frame: number, event: PointerEvent): void;
    onSelect(graph: Graph, frame: number): void;
    onZoom(): void;
}

export class Graph implements GestureHost {
    readonly canvas: HTMLCanvasElement;
    tree!: Tree;  // by show()
    total!: Float64Array;
    focus = 0;
    selected = -1;
    visited = 0;
    found: number[] | null = null;  // frames whose functions are searched, in the tree's order; null: no search
    private foundFunctions: Uint8Array | null = null;
    private readonly context: CanvasRenderingContext2D;
    private readonly spacer = document.createElement('div');
    private left!: Float64Array;
    private isFlame = true;
    private hovered = -1;
    private isWanted = false;
    private pointAgain = () => {};
    private width = 0;
    private height = 0;
    private from = 0;
    private to = 1;

    constructor(private readonly container: HTMLElement, private readonly host: GraphHost, signal: AbortSignal) {
        this.canvas = container.querySelector('canvas')!;
        this.context = this.canvas.getContext('2d')!;
        container.append(this.spacer);
        container.addEventListener('scroll', () => this.draw());
        onResize(container, () => this.resize(), signal);
        this.listen();
    }

    show(tree: Tree, total: Float64Array, { isFlame, bySize, keepZoom }: { isFlame: boolean; bySize: boolean; keepZoom: boolean }): void {
        this.measure();
        const focus = keepZoom && this.tree?.count === tree.count ? this.focus : 0;
        this.tree = tree;
        this.total = total;
        this.left = layOut(tree, total, bySize);
        const isTurned = this.isFlame !== isFlame;
        this.isFlame = isFlame;
        this.selected = this.selected < tree.count && keepZoom ? this.selected : -1;
        this.hovered = -1;
        this.mark(this.foundFunctions);
        this.zoomTo(total[focus] > 0 ? focus : 0, !keepZoom || isTurned);
    }

    // Functions that are searched, by number; null: no search.
    mark(functions: Uint8Array | null): void {
        const { tree, total } = this;
        this.foundFunctions = functions;
        this.found = functions && [...tree.functions.keys()].filter((i) => i > 0 && functions[tree.functions[i]] === 1 && total[i] > 0);
        this.draw();
    }

    // The distance from the root stays.
    private resize(): void {
        const below = this.tree && this.height ? this.contentHeight() - this.height - this.container.scrollTop : 0;
        this.measure();
        if (this.tree) {
            this.fitSpacer();
            if (this.isFlame) {
                this.container.scrollTop = this.contentHeight() - this.height - below;
            }
            this.drawNow();
        }
    }

    private measure(): void {
        this.width = this.container.clientWidth;
        this.height = this.container.clientHeight;
        sizeCanvas(this.canvas, this.width, this.height);
    }

    private fitSpacer(): void {
        this.spacer.style.height = Math.max(0, this.contentHeight() - this.height) + 'px';
    }

    private contentHeight(): number {
        return Math.max((this.tree.depthMax + 1) * kRowPixels, this.height);
    }

    private top(depth: number): number {
        const y = this.isFlame ? this.contentHeight() - (depth + 1) * kRowPixels : depth * kRowPixels;
        return y - this.container.scrollTop;
    }

    // Pixels of the canvas; -1: none.
    private frameAtPoint(x: number, y: number): number {
        const row = (y + this.container.scrollTop) / kRowPixels;
        const depth = this.isFlame ? Math.floor(this.contentHeight() / kRowPixels - row) : Math.floor(row);
        const sample = this.from + x * this.samplesOfPixel();
        return frameAt(this.tree, this.total, this.left, depth, sample);
    }

    zoomTo(frame: number, scrollsToRoot = false): void {
        this.focus = frame;
        this.from = this.left[frame];
        this.to = this.left[frame] + Math.max(this.total[frame], 1e-9);
        this.fitSpacer();
        if (scrollsToRoot) {
            this.container.scrollTop = this.isFlame ? this.contentHeight() : 0;
        }
        this.draw();
        this.pointAgain();
        this.host.onZoom();
    }

    // Around a place in samples, which keeps its position.
    private zoomBy(factor: number, sample: number): void {
        const whole = this.total[0];
        const width = Math.min(whole, Math.max((this.to - this.from) * factor, Math.min(whole, 1)));
        const share = (sample - this.from) / (this.to - this.from);
        this.from = Math.min(Math.max(0, sample - share * width), whole - width);
        this.to = this.from + width;
        this.draw();
        this.pointAgain();
    }

    private moveBy(samples: number): void {
        const width = this.to - this.from;
        this.from = Math.min(Math.max(0, this.from + samples), Math.max(0, this.total[0] - width));
        this.to = this.from + width;
        this.draw();
        this.pointAgain();
    }

    select(frame: number): void {
        this.selected = frame;
        if (frame >= 0) {
            this.scrollTo(frame);
        }
        this.draw();
        this.host.onSelect(this, frame);
    }

    private scrollTo(frame: number): void {
        const y = this.top(this.tree.depth[frame]);
        if (y < 0) {
            this.container.scrollTop += y - kRowPixels;
        } else if (y + kRowPixels > this.height) {
            this.container.scrollTop += y + 2 * kRowPixels - this.height;
        }
        const left = this.left[frame];
        if (left + this.total[frame] <= this.from || left >= this.to) {
            this.zoomTo(this.tree.parent[frame] < 0 ? 0 : this.tree.parent[frame]);
        }
    }

    draw(): void {
        if (!this.isWanted) {
            this.isWanted = true;
            requestAnimationFrame(() => {
                this.isWanted = false;
                this.drawNow();
            });
        }
    }

    private drawNow(): void {
        if (!this.tree || !this.width || !this.height) {
            return;
        }
        const context = this.context;
        const dark = isDark();
        const text = dark ? '#f1f3f5' : '#16191d';
        const paper = dark ? '#16191d' : '#ffffff';
        const found = this.foundFunctions;
        context.fillStyle = paper;
        context.fillRect(0, 0, this.width, this.height);
        useFont(context);
        context.textBaseline = 'middle';
        const rows = [Math.floor((this.container.scrollTop) / kRowPixels), Math.ceil((this.container.scrollTop + this.height) / kRowPixels)];
        const all = this.contentHeight() / kRowPixels;
        const view = {
            from: this.from, to: this.to, width: this.width, least: kLeastPixels,
            firstDepth: this.isFlame ? Math.floor(all - rows[1]) - 1 : rows[0], lastDepth: this.isFlame ? Math.ceil(all - rows[0]) : rows[1],
        };
        const zoomDepth = this.tree.depth[this.focus];
        this.visited = visitVisible(this.tree, this.total, this.left, view, (i, x, width) => {
            const y = this.top(this.tree.depth[i]);
            const begin = Math.max(x, 0);
            const shown = Math.min(x + width, this.width) - begin;
            const isFound = found?.[this.tree.functions[i]] === 1;
            const isCaller = this.tree.depth[i] < zoomDepth && width > this.width;
            context.globalAlpha = found && !isFound ? 0.3 : isCaller ? 0.55 : 1;
            context.fillStyle = isFound ? (dark ? '#a23ea8' : '#f0a3f4') : this.host.fillOf(i, this, dark);
            context.fillRect(begin, y, Math.max(shown - (width > 2 ? 0.6 : 0), 0.6), kRowPixels - 1);
            if (shown >= kLeastLabelPixels) {
                context.globalAlpha = found && !isFound ? 0.75 : 1;
                context.fillStyle = text;
                context.fillText(fitted(context, this.host.labelOf(i, this), shown - 8), begin + 4, y + kRowPixels / 2);
            }
            context.globalAlpha = 1;
        });
        this.drawMarks(dark ? '#ff8cff' : '#c026d3');
        this.outline(this.hovered, dark ? '#9aa3ad' : '#5b636c', 1);
        this.outline(this.selected, dark ? '#ffffff' : '#000000', 2);
    }

    // Matches too narrow to be seen, also those in branches that aren't drawn.
    private drawMarks(colour: string): void {
        const { tree: { depth, depthMax }, left, total } = this;
        const scale = this.width / (this.to - this.from);
        const columns = Math.ceil(this.width / kMarkPixels) + 1;
        const marked = new Uint8Array((depthMax + 1) * columns);
        for (const i of this.found ?? []) {
            const middle = (left[i] + total[i] / 2 - this.from) * scale;
            if (total[i] * scale < kMarkPixels && middle >= 0 && middle <= this.width) {
                marked[depth[i] * columns + Math.floor(middle / kMarkPixels)] = 1;
            }
        }
        this.context.fillStyle = colour;
        for (let row = 0; this.found && row <= depthMax; row++) {
            const y = this.top(row);
            for (let x = 0; y > -kRowPixels && y < this.height && x < columns; x++) {
                const begin = x;
                while (marked[row * columns + x] === 1) {
                    x++;
                }
                if (x > begin) {
                    this.context.fillRect(begin * kMarkPixels, y, (x - begin) * kMarkPixels, kRowPixels - 1);
                }
            }
        }
    }

    private outline(frame: number, colour: string, width: number): void {
        if (frame < 0) {
            return;
        }
        const scale = this.width / (this.to - this.from);
        const x = Math.max(-width, (this.left[frame] - this.from) * scale);
        const end = Math.min(this.width + width, (this.left[frame] + this.total[frame] - this.from) * scale);
        if (end > x) {
            this.context.strokeStyle = colour;
            this.context.lineWidth = width;
            this.context.strokeRect(x + width / 2, this.top(this.tree.depth[frame]) + width / 2, Math.max(end - x - width, 1), kRowPixels - 1 - width);
        }
    }

    private listen(): void {
        const { canvas } = this;
        this.pointAgain = listenToGestures(canvas, this);
        canvas.addEventListener('wheel', (event) => {
            if (event.ctrlKey || event.metaKey) {
                event.preventDefault();
                this.zoomBy(Math.exp(event.deltaY / 300), this.from + event.offsetX * this.samplesOfPixel());
            } else if (event.deltaX !== 0) {
                event.preventDefault();
                this.moveBy(event.deltaX * this.samplesOfPixel());
            }
        }, { passive: false });
        canvas.addEventListener('keydown', (event) => this.key(event));
    }

    onPoint(x: number, y: number, event: PointerEvent): void {
        const frame = x < 0 ? -1 : this.frameAtPoint(x, y);
        if (frame !== this.hovered) {
            this.hovered = frame;
            this.draw();
        }
        this.host.onHover(this, frame, event);
    }

    // A tap of a finger shows the frame's name; the next one zooms.
    onTap(x: number, y: number, event: PointerEvent): void {
        const frame = this.frameAtPoint(x, y);
        const isZoom = frame >= 0 && (event.pointerType !== 'touch' || frame === this.selected);
        this.select(frame);
        if (isZoom) {
            this.zoomTo(frame);
        }
    }

    onDrag(dx: number, dy: number, event: PointerEvent): void {
        this.moveBy(-dx * this.samplesOfPixel());
        if (event.pointerType === 'mouse') {
            this.container.scrollTop -= dy;
        }
    }

    onPinch(factor: number, x: number): void {
        this.zoomBy(factor, this.from + x * this.samplesOfPixel());
    }

    private samplesOfPixel(): number {
        return (this.to - this.from) / this.width;
    }

    // The frame that the arrow keys go to; -1: none.
    private neighbour(frame: number, key: string): number {
        const tree = this.tree;
        const inward = this.isFlame ? 'ArrowUp' : 'ArrowDown';
        const siblings = (parent: number) => {
            const frames: number[] = [];
            for (let i = parent + 1; i < tree.end[parent]; i = tree.end[i]) {
                if (this.total[i] > 0) {
                    frames.push(i);
                }
            }
            return frames.sort((a, b) => this.left[a] - this.left[b]);
        };
        if (key === 'ArrowUp' || key === 'ArrowDown') {
            if (key !== inward) {
                return tree.parent[frame];
            }
            return siblings(frame).reduce((best, i) => best < 0 || this.total[i] > this.total[best] ? i : best, -1);
        }
        if (tree.parent[frame] < 0) {
            return -1;
        }
        const all = siblings(tree.parent[frame]);
        return all[all.indexOf(frame) + (key === 'ArrowLeft' ? -1 : 1)] ?? -1;
    }

    private key(event: KeyboardEvent): void {
        if (!this.tree || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        const middle = (this.from + this.to) / 2;
        if (event.key.startsWith('Arrow')) {
            const next = this.neighbour(this.selected < 0 ? this.focus : this.selected, event.key);
            if (next >= 0) {
                this.select(next);
            }
        } else if (event.key === 'Enter' || event.key === ' ') {
            this.zoomTo(Math.max(0, this.selected));
        } else if (event.key === 'Backspace') {
            this.zoomTo(Math.max(0, this.tree.parent[this.focus]));
        } else if (event.key === '+' || event.key === '=') {
            this.zoomBy(0.7, middle);
        } else if (event.key === '-') {
            this.zoomBy(1 / 0.7, middle);
        } else {
            return;
        }
        event.preventDefault();
    }
}
