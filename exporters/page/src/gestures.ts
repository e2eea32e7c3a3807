// Gestures of one or two pointers on a canvas. Places are pixels of the canvas.

const kDragPixels = 5;

export interface GestureHost {
    onPoint(x: number, y: number, event: PointerEvent): void;  // without being pressed; -1, -1: it has left
    onTap(x: number, y: number, event: PointerEvent): void;
    onDrag(dx: number, dy: number, event: PointerEvent): void;
    onPinch(factor: number, x: number): void;  // factor below 1: fingers move apart, about x
}

// Returns a function that points again at the pointer's place, where another item may be now.
export function listenToGestures(canvas: HTMLCanvasElement, host: GestureHost): () => void {
    const pointers = new Map<number, { x: number; y: number }>();
    let start = { x: 0, y: 0 };
    let isTap = false;
    let pointed: PointerEvent | null = null;
    let place = { x: -1, y: -1 };
    canvas.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) {
            return;
        }
        canvas.setPointerCapture(event.pointerId);
        start = { x: event.offsetX, y: event.offsetY };
        pointers.set(event.pointerId, start);
        isTap = pointers.size === 1;
    });
    canvas.addEventListener('pointermove', (event) => {
        const last = pointers.get(event.pointerId);
        if (last === undefined) {
            pointed = event;
            place = { x: event.offsetX, y: event.offsetY };
            host.onPoint(place.x, place.y, event);
            return;
        }
        pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
        isTap = isTap && Math.hypot(event.offsetX - start.x, event.offsetY - start.y) <= kDragPixels;
        if (pointers.size === 2) {
            const other = [...pointers].find(([id]) => id !== event.pointerId)![1].x;
            host.onPinch(Math.max(1, Math.abs(last.x - other)) / Math.max(1, Math.abs(event.offsetX - other)), other);
        } else if (!isTap) {
            host.onDrag(event.offsetX - last.x, event.offsetY - last.y, event);
        }
    });
    canvas.addEventListener('pointerup', (event) => {
        pointers.delete(event.pointerId);
        if (isTap) {
            host.onTap(event.offsetX, event.offsetY, event);
        }
        isTap = false;
    });
    canvas.addEventListener('pointercancel', (event) => {
        pointers.delete(event.pointerId);
        isTap = false;
    });
    canvas.addEventListener('pointerleave', (event) => {
        pointed = null;
        host.onPoint(-1, -1, event);
    });
    return () => pointed && host.onPoint(place.x, place.y, pointed);
}
