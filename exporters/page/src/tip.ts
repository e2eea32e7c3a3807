// The text beside the pointer. A document has one tip.
import { make } from './dom.js';

let tip: HTMLElement | undefined;

export function hideTip(): void {
    tip?.remove();
}

export function showTip(event: PointerEvent, title: string, lines: string[]): void {
    if (tip === undefined) {
        tip = make('div', 'tip');
        tip.setAttribute('role', 'tooltip');
    }
    document.body.append(tip);
    tip.replaceChildren(make('b', '', title), ...lines.map((text) => make('p', '', text)));
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - box.width - 8)) + 'px';
    tip.style.top = (event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + 'px';
}
