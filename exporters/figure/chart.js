// A drawing on a canvas that can be pointed at, walked over by keys and, where it says so, zoomed.

const kChartFont = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

export class Chart {
    // `page` answers isDark() and is called: onHover(item, event), onSelect(item). A subclass has draw(context),
    // itemAt(x, y), neighbour(item, key), describe(item) and table(), of items that are numbers from 0; -1: none.
    constructor(container, page) {
        this.container = container;
        this.canvas = container.querySelector('canvas');
        this.page = page;
        this.selected = -1;
        this.hovered = -1;
        this.isDrag = false;  // the pointer went too far for a click
        this.width = 0;
        this.height = 0;
        new ResizeObserver(() => this.drawNow()).observe(container);
        this.canvas.addEventListener('pointermove', (event) => this.hover(this.itemAt(event.offsetX, event.offsetY), event));
        this.canvas.addEventListener('pointerleave', (event) => this.hover(-1, event));
        this.canvas.addEventListener('click', (event) => {
            if (!this.isDrag) {
                this.select(this.itemAt(event.offsetX, event.offsetY));
            }
        });
        this.canvas.addEventListener('keydown', (event) => this.key(event));
    }

    heightOf() {
        return this.container.clientHeight;
    }

    drawNow() {
        const ratio = window.devicePixelRatio || 1;
        this.width = this.container.clientWidth;
        this.height = Math.max(this.heightOf(), 60);
        if (this.width === 0) {
            return;
        }
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(this.height * ratio);
        this.canvas.style.width = this.width + 'px';
        this.canvas.style.height = this.height + 'px';
        const context = this.canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.font = kChartFont;
        const style = getComputedStyle(document.documentElement);
        const colour = (name) => style.getPropertyValue(name).trim();
        this.ink = { text: colour('--text'), soft: colour('--soft'), line: colour('--line'), field: colour('--field'), paper: colour('--paper'), accent: colour('--accent') };
        this.draw(context);
    }

    text(context, text, x, y, align = 'left', colour = this.ink.soft) {
        context.textAlign = align;
        context.fillStyle = colour;
        context.fillText(text, x, y);
    }

    outline(context, x, y, width, height) {
        context.strokeStyle = this.ink.text;
        context.lineWidth = 2;
        context.strokeRect(x, y, Math.max(width, 2), Math.max(height, 2));
    }

    hover(item, event) {
        if (item !== this.hovered) {
            this.hovered = item;
            this.drawNow();
        }
        this.page.onHover(item, event);
    }

    select(item) {
        this.selected = item;
        this.drawNow();
        this.page.onSelect(item);
    }

    key(event) {
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

    firstItem() {
        return 0;
    }
}
