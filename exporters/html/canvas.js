// A call tree on a canvas: drawing what is seen of it, zoom, pointer and keyboard. The canvas is as high as its container;
// the container scrolls over as many rows as the tree has.
import { frameAt, layOut, visitVisible } from './layout.js';

const kRowPixels = 20;
const kLeastPixels = 0.6;
const kFont = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const kLeastLabelPixels = 26;
const kDragPixels = 5;
const kEllipsis = '\u2026';

export class GraphView {
    // `page` answers labelOf(frame, view), fillOf(frame, view), isDark(), isFound(function), hasSearch(), and is called:
    // onHover(view, frame, event), onSelect(view, frame), onZoom().
    constructor(container, page) {
        this.container = container;
        this.canvas = container.querySelector('canvas');
        this.context = this.canvas.getContext('2d');
        this.spacer = document.createElement('div');
        container.append(this.spacer);
        this.page = page;
        this.tree = null;
        this.selected = -1;
        this.hovered = -1;
        this.isFlame = true;
        this.widths = new Map();
        this.pointers = new Map();
        this.isWanted = false;
        this.visited = 0;
        container.addEventListener('scroll', () => this.draw());
        new ResizeObserver(() => this.resize()).observe(container);
        this.listen();
    }

    show(tree, total, { isFlame, bySize, keepZoom }) {
        this.measure();
        const focus = keepZoom && this.tree && this.tree.count === tree.count ? this.focus : 0;
        this.tree = tree;
        this.total = total;
        this.left = layOut(tree, total, bySize);
        const isTurned = this.isFlame !== isFlame;
        this.isFlame = isFlame;
        this.selected = this.selected < tree.count && keepZoom ? this.selected : -1;
        this.hovered = -1;
        this.zoomTo(total[focus] > 0 ? focus : 0, !keepZoom || isTurned);
    }

    // The distance from the root stays.
    resize() {
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

    measure() {
        const ratio = window.devicePixelRatio || 1;
        this.width = this.container.clientWidth;
        this.height = this.container.clientHeight;
        this.canvas.width = Math.max(1, Math.round(this.width * ratio));
        this.canvas.height = Math.max(1, Math.round(this.height * ratio));
        this.canvas.style.width = this.width + 'px';
        this.canvas.style.height = this.height + 'px';
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    fitSpacer() {
        this.spacer.style.height = Math.max(0, this.contentHeight() - this.height) + 'px';
    }

    contentHeight() {
        return Math.max((this.tree.depthMax + 1) * kRowPixels, this.height);
    }

    top(depth) {
        const y = this.isFlame ? this.contentHeight() - (depth + 1) * kRowPixels : depth * kRowPixels;
        return y - this.container.scrollTop;
    }

    // Pixels of the canvas; -1: none.
    frameAtPoint(x, y) {
        const row = (y + this.container.scrollTop) / kRowPixels;
        const depth = this.isFlame ? Math.floor(this.contentHeight() / kRowPixels - row) : Math.floor(row);
        const sample = this.from + x / this.width * (this.to - this.from);
        return frameAt(this.tree, this.total, this.left, depth, sample);
    }

    zoomTo(frame, scrollsToRoot = false) {
        this.focus = frame;
        this.from = this.left[frame];
        this.to = this.left[frame] + Math.max(this.total[frame], 1e-9);
        this.fitSpacer();
        if (scrollsToRoot) {
            this.container.scrollTop = this.isFlame ? this.contentHeight() : 0;
        }
        this.draw();
        this.page.onZoom();
    }

    // About a place in samples, which stays where it is.
    zoomBy(factor, sample) {
        const whole = this.total[0];
        const width = Math.min(whole, Math.max((this.to - this.from) * factor, Math.min(whole, 1)));
        const share = (sample - this.from) / (this.to - this.from);
        this.from = Math.min(Math.max(0, sample - share * width), whole - width);
        this.to = this.from + width;
        this.draw();
    }

    moveBy(samples) {
        const width = this.to - this.from;
        this.from = Math.min(Math.max(0, this.from + samples), Math.max(0, this.total[0] - width));
        this.to = this.from + width;
        this.draw();
    }

    select(frame) {
        this.selected = frame;
        if (frame >= 0) {
            this.scrollTo(frame);
        }
        this.draw();
        this.page.onSelect(this, frame);
    }

    scrollTo(frame) {
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

    draw() {
        if (!this.isWanted) {
            this.isWanted = true;
            requestAnimationFrame(() => {
                this.isWanted = false;
                this.drawNow();
            });
        }
    }

    drawNow() {
        if (!this.tree || !this.width || !this.height) {
            return;
        }
        const context = this.context;
        const isDark = this.page.isDark();
        const text = isDark ? '#f1f3f5' : '#16191d';
        const paper = isDark ? '#16191d' : '#ffffff';
        const hasSearch = this.page.hasSearch();
        context.fillStyle = paper;
        context.fillRect(0, 0, this.width, this.height);
        context.font = kFont;
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
            const isFound = hasSearch && this.page.isFound(this.tree.functions[i]);
            const isCaller = this.tree.depth[i] < zoomDepth && width > this.width;
            context.globalAlpha = hasSearch && !isFound ? 0.3 : isCaller ? 0.55 : 1;
            context.fillStyle = isFound ? (isDark ? '#a23ea8' : '#f0a3f4') : this.page.fillOf(i, this);
            context.fillRect(begin, y, Math.max(shown - (width > 2 ? 0.6 : 0), 0.6), kRowPixels - 1);
            if (shown >= kLeastLabelPixels) {
                context.globalAlpha = hasSearch && !isFound ? 0.6 : 1;
                context.fillStyle = text;
                context.fillText(this.fitted(this.page.labelOf(i, this), shown - 8), begin + 4, y + kRowPixels / 2);
            }
            context.globalAlpha = 1;
        });
        this.outline(this.hovered, isDark ? '#9aa3ad' : '#5b636c', 1);
        this.outline(this.selected, isDark ? '#ffffff' : '#000000', 2);
    }

    outline(frame, colour, width) {
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

    fitted(label, pixels) {
        let width = this.widths.get(label);
        if (width === undefined) {
            width = this.context.measureText(label).width;
            this.widths.set(label, width);
        }
        if (width <= pixels) {
            return label;
        }
        const letters = Math.floor(label.length * pixels / width) - 1;
        return letters > 0 ? label.slice(0, letters) + kEllipsis : '';
    }

    listen() {
        const canvas = this.canvas;
        const place = (event) => [event.offsetX, event.offsetY];
        canvas.addEventListener('pointerdown', (event) => {
            canvas.setPointerCapture(event.pointerId);
            this.pointers.set(event.pointerId, event.offsetX);
            this.pressed = { x: event.offsetX, y: event.offsetY, scroll: this.container.scrollTop, isDrag: this.pointers.size > 1 };
        });
        canvas.addEventListener('pointermove', (event) => {
            if (!this.tree) {
                return;
            }
            const last = this.pointers.get(event.pointerId);
            if (last === undefined) {
                this.hover(this.frameAtPoint(...place(event)), event);
                return;
            }
            const scale = (this.to - this.from) / this.width;
            if (this.pointers.size === 2) {
                const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
                const before = Math.max(1, Math.abs(last - other));
                this.zoomBy(before / Math.max(1, Math.abs(event.offsetX - other)), this.from + other * scale);
            } else if (this.pressed && (this.pressed.isDrag || Math.hypot(event.offsetX - this.pressed.x, event.offsetY - this.pressed.y) > kDragPixels)) {
                this.pressed.isDrag = true;
                this.moveBy((last - event.offsetX) * scale);
                if (event.pointerType === 'mouse') {
                    this.container.scrollTop = this.pressed.scroll + this.pressed.y - event.offsetY;
                }
            }
            this.pointers.set(event.pointerId, event.offsetX);
        });
        const release = (event) => {
            this.pointers.delete(event.pointerId);
        };
        canvas.addEventListener('pointerup', (event) => {
            release(event);
            if (!this.tree || !this.pressed || this.pressed.isDrag) {
                return;
            }
            const frame = this.frameAtPoint(...place(event));
            const isZoom = frame >= 0 && (event.pointerType !== 'touch' || frame === this.selected);
            this.select(frame);
            if (isZoom) {
                this.zoomTo(frame);
            }
        });
        canvas.addEventListener('pointercancel', release);
        canvas.addEventListener('pointerleave', (event) => this.hover(-1, event));
        canvas.addEventListener('wheel', (event) => {
            if (event.ctrlKey || event.metaKey) {
                event.preventDefault();
                this.zoomBy(Math.exp(event.deltaY / 300), this.from + event.offsetX / this.width * (this.to - this.from));
            } else if (event.deltaX !== 0) {
                event.preventDefault();
                this.moveBy(event.deltaX / this.width * (this.to - this.from));
            }
        }, { passive: false });
        canvas.addEventListener('keydown', (event) => this.key(event));
    }

    hover(frame, event) {
        if (frame !== this.hovered) {
            this.hovered = frame;
            this.draw();
        }
        this.page.onHover(this, frame, event);
    }

    // The frame that the arrow keys go to; -1: none.
    neighbour(frame, key) {
        const tree = this.tree;
        const inward = this.isFlame ? 'ArrowUp' : 'ArrowDown';
        const siblings = (parent) => {
            const frames = [];
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

    key(event) {
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
