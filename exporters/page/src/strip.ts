// Samples over time: a bar a slice; a range of slices can be selected by pointer or keyboard.
import { onResize } from './dom.js';
import { isDark } from './theme.js';

export class TimeStrip {
    // `onRange(from, to)`: slices [from, to).
    private readonly count: number;
    private from = 0;
    private to: number;
    private cursor = 0;
    private anchor: number | undefined;
    private marked: Float64Array | null = null;
    private wasWhole = true;

    constructor(private readonly canvas: HTMLCanvasElement, private readonly totals: Float64Array, private readonly onRange: (from: number, to: number) => void, signal: AbortSignal) {
        this.count = this.to = totals.length;
        onResize(canvas, () => this.draw(), signal);
        this.listen();
    }

    isWhole(): boolean {
        return this.from === 0 && this.to === this.count;
    }

    select(from: number, to: number): void {
        const first = Math.max(0, Math.min(from, to));
        const end = Math.min(this.count, Math.max(from, to));
        if (end > first && (first !== this.from || end !== this.to)) {
            this.from = first;
            this.to = end;
            this.onRange(first, end);
        }
        this.draw();
    }

    // Samples of one frame, shown in front of all; null: none.
    mark(sums: Float64Array | null): void {
        this.marked = sums;
        this.draw();
    }

    draw(): void {
        const ratio = window.devicePixelRatio || 1;
        const width = this.canvas.clientWidth;
        const height = this.canvas.clientHeight;
        if (!width || !height) {
            return;
        }
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        const context = this.canvas.getContext('2d')!;
        context.scale(ratio, ratio);
        const dark = isDark();
        const most = Math.max(1, ...this.totals);
        const step = width / this.count;
        for (let i = 0; i < this.count; i++) {
            const isIn = i >= this.from && i < this.to;
            const bar = (value: number, colour: string) => {
                const size = value / most * (height - 4);
                context.fillStyle = colour;
                context.fillRect(i * step, height - size, Math.max(step - (step > 4 ? 1 : 0), 0.5), size);
            };
            context.globalAlpha = isIn ? 1 : 0.3;
            bar(this.totals[i], dark ? '#5b6d84' : '#a9bad0');
            if (this.marked) {
                bar(this.marked[i], dark ? '#f0883e' : '#d9691a');
            }
        }
        context.globalAlpha = 1;
        if (!this.isWhole()) {
            context.strokeStyle = dark ? '#ffffff' : '#000000';
            context.strokeRect(this.from * step + 0.5, 0.5, (this.to - this.from) * step - 1, height - 1);
        }
        if (document.activeElement === this.canvas) {
            context.fillStyle = dark ? '#ffffff' : '#000000';
            context.fillRect(this.cursor * step, height - 3, Math.max(step, 2), 3);
        }
    }

    private listen(): void {
        const sliceAt = (event: PointerEvent) => Math.max(0, Math.min(this.count - 1, Math.floor(event.offsetX / this.canvas.clientWidth * this.count)));
        let first = -1;
        this.canvas.addEventListener('pointerdown', (event) => {
            this.canvas.setPointerCapture(event.pointerId);
            first = sliceAt(event);
            this.wasWhole = this.isWhole();
        });
        this.canvas.addEventListener('pointermove', (event) => {
            if (first >= 0 && sliceAt(event) !== first) {
                this.select(Math.min(first, sliceAt(event)), Math.max(first, sliceAt(event)) + 1);
            }
        });
        this.canvas.addEventListener('pointerup', (event) => {
            if (first >= 0 && sliceAt(event) === first) {
                this.select(this.wasWhole ? first : 0, this.wasWhole ? first + 1 : this.count);
            }
            first = -1;
        });
        this.canvas.addEventListener('focus', () => this.draw());
        this.canvas.addEventListener('blur', () => this.draw());
        this.canvas.addEventListener('keydown', (event) => {
            if (event.key === 'Escape') {
                this.select(0, this.count);
            } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
                const last = this.cursor;
                this.cursor = Math.max(0, Math.min(this.count - 1, this.cursor + (event.key === 'ArrowLeft' ? -1 : 1)));
                if (event.shiftKey) {
                    this.anchor = this.anchor ?? last;
                    this.select(Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor) + 1);
                } else {
                    this.anchor = undefined;
                    this.draw();
                }
            } else {
                return;
            }
            event.preventDefault();
            event.stopPropagation();
        });
    }
}
