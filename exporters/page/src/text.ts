// Texts of drawings, measured.
import { kFont } from './theme.js';

const kEllipsis = '\u2026';
const kCodesMax = 65_536;  // whose widths are kept

const widths = new Float32Array(kCodesMax);  // by code point; 0: not known

// Before texts are drawn: widths of characters then add up.
export function useFont(context: CanvasRenderingContext2D): void {
    context.font = kFont;
    context.fontKerning = 'none';
    context.textRendering = 'optimizeSpeed';
}

function widthOf(context: CanvasRenderingContext2D, point: number): number {
    if (point >= kCodesMax) {
        return context.measureText(String.fromCodePoint(point)).width;
    }
    return widths[point] || (widths[point] = context.measureText(String.fromCodePoint(point)).width);
}

// Black or white, whichever is easier to read on a colour.
export function inkOn(context: CanvasRenderingContext2D, colour: string): string {
    context.fillStyle = colour;
    const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(String(context.fillStyle).slice(at, at + 2), 16) / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#000000' : '#ffffff';
}

// The part of a text that fits, with an ellipsis where it is cut; '' if not even one character fits.
export function fitted(context: CanvasRenderingContext2D, text: string, pixels: number): string {
    const room = pixels - widthOf(context, kEllipsis.charCodeAt(0));
    let width = 0;
    let cut = 0;
    for (let i = 0; i < text.length;) {
        const point = text.codePointAt(i)!;
        width += widthOf(context, point);
        if (width > pixels) {
            return cut === 0 ? '' : text.slice(0, cut) + kEllipsis;
        }
        i += point > 0xffff ? 2 : 1;
        cut = width <= room ? i : cut;
    }
    return text;
}
