// Elements, and the cleanup when their view is removed: listeners of an AbortSignal.

export function make<Name extends keyof HTMLElementTagNameMap>(name: Name, style = '', text = ''): HTMLElementTagNameMap[Name] {
    const made = document.createElement(name);
    made.className = style;
    made.textContent = text;
    return made;
}

export function makeButton(text: string, act: () => void): HTMLButtonElement {
    const made = make('button', '', text);
    made.type = 'button';
    made.addEventListener('click', act);
    return made;
}

// Of a `dl`.
export function makeTerms(terms: readonly (readonly [name: string, text: string, style?: string])[]): HTMLElement[] {
    return terms.flatMap(([name, text, style]) => [make('dt', '', name), make('dd', style, text)]);
}

// A legend.
export function showSwatches(legend: HTMLElement, entries: [colour: string, text: string][]): void {
    legend.replaceChildren(...entries.map(([colour, text]) => {
        const entry = make('span', 'entry');
        const swatch = make('span', 'swatch');
        swatch.style.background = colour;
        entry.append(swatch, text);
        return entry;
    }));
}

// As large as these pixels of the page.
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
    const ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext('2d')!;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
}

export function onResize(element: Element, act: () => void, signal: AbortSignal): void {
    const observer = new ResizeObserver(act);
    observer.observe(element);
    signal.addEventListener('abort', () => observer.disconnect());
}

// Buttons of which one is chosen, by pointer or arrow keys. Returns a function that shows a choice without making it.
export function makeChoice(buttons: HTMLElement[], choose: (index: number) => void): (index: number) => void {
    const show = (index: number) => buttons.forEach((button, i) => {
        button.setAttribute('aria-checked', String(i === index));
        button.tabIndex = i === index ? 0 : -1;
    });
    buttons.forEach((button, i) => {
        button.addEventListener('click', () => choose(i));
        button.addEventListener('keydown', (event) => {
            const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
            if (step !== 0) {
                const next = (i + step + buttons.length) % buttons.length;
                choose(next);
                buttons[next].focus();
            }
        });
    });
    return show;
}
