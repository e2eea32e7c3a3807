// A drawing on a canvas, with pointing, keyboard navigation and, if enabled, zoom.
import { onResize, sizeCanvas } from './dom.js';
import { type GestureHost, listenToGestures } from './gestures.js';
import { fitted, useFont } from './text.js';
import { ink } from './theme.js';
import type { Column } from './table.js';

const kLabelGap = 8;
const kInks = ['text', 'soft', 'line', 'field', 'paper', 'accent'] as const;

export interface ChartHost { onHover(item: number, event: PointerEvent): void; onSelect(item: number): void; onZoom(): void }

// The elements beside a chart.
export interface ChartTable { title: string; isDown: boolean; columns: Column[] }

export abstract class Chart implements GestureHost {
    readonly canvas: HTMLCanvasElement;
    readonly layouts: readonly { name: string; title: string }[] = [];
    layout = 0;
    selected = -1;
    protected hovered = -1;
    protected width = 0;
    protected height = 0;
    protected readonly pointAgain: () => void;
    protected ink!: Record<typeof kInks[number], string>;

    // Items are numbers from 0; -1: none.
    constructor(protected readonly container: HTMLElement, protected readonly host: ChartHost, signal: AbortSignal) {
        this.canvas = container.querySelector('canvas')!;
        onResize(container, () => this.drawNow(), signal);
        this.pointAgain = listenToGestures(this.canvas, this);
        this.canvas.addEventListener('keydown', (event) => this.key(event));
    }

    protected abstract draw(context: CanvasRenderingContext2D): void;
    protected abstract itemAt(x: number, y: number): number;
    protected abstract neighbour(item: number, key: string): number;
    abstract get count(): number;  // of items
    abstract describe(item: number): string[];
    abstract table(): ChartTable;

    protected heightOf(): number {
        return this.container.clientHeight;
    }

    drawNow(): void {
        this.width = this.container.clientWidth;
        this.height = Math.max(this.heightOf(), 60);
        if (this.width === 0) {
            return;
        }
        const context = sizeCanvas(this.canvas, this.width, this.height);
        useFont(context);
        this.ink = Object.fromEntries(kInks.map((name) => [name, ink(name)])) as typeof this.ink;
        this.draw(context);
    }

    protected text(context: CanvasRenderingContext2D, text: string, x: number, y: number, align: CanvasTextAlign = 'left', colour = this.ink.soft, pixels = Infinity): void {
        context.textAlign = align;
        context.fillStyle = colour;
        context.fillText(fitted(context, text, pixels), x, y);
    }

    // Texts in the middle of places, uncut, within [low, high] and apart from each other.
    protected labels(context: CanvasRenderingContext2D, labels: [x: number, text: string][], y: number, low: number, high: number): void {
        let free = low;
        for (const [x, text] of labels) {
            const half = context.measureText(text).width / 2;
            const middle = Math.min(Math.max(x, low + half), high - half);
            if (middle - half >= free) {
                this.text(context, text, middle, y, 'center');
                free = middle + half + kLabelGap;
            }
        }
    }

    protected outline(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
        context.strokeStyle = this.ink.text;
        context.lineWidth = 2;
        context.strokeRect(x, y, Math.max(width, 2), Math.max(height, 2));
    }

    onPoint(x: number, y: number, event: PointerEvent): void {
        const item = x < 0 ? -1 : this.itemAt(x, y);
        if (item !== this.hovered) {
            this.hovered = item;
            this.drawNow();
        }
        this.host.onHover(item, event);
    }

    onTap(x: number, y: number): void {
        this.select(this.itemAt(x, y));
    }

    onDrag(_dx: number): void {}
    onPinch(_factor: number, _x: number): void {}

    select(item: number): void {
        this.selected = item;
        this.drawNow();
        this.host.onSelect(item);
    }

    protected key(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (event.key.startsWith('Arrow')) {
            const next = this.selected < 0 ? this.firstItem() : this.neighbour(this.selected, event.key);
            if (next >= 0) {
                this.select(next);
            }
        } else if (event.key === 'Escape') {
            this.select(-1);
        } else {
            return;
        }
        event.preventDefault();
    }

    legend(): [colour: string, text: string][] {
        return [];
    }

    // Of the table; an item each, if a subclass doesn't say otherwise.
    rows(): number[] {
        return [...Array(this.count).keys()];
    }

    protected firstItem(): number {
        return 0;
    }
}
