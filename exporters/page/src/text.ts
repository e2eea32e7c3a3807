// Texts of drawings, measured.
import { kFont } from './theme.js';

const kEllipsis = '\u2026';
const kCharactersMax = 10_000;  // whose widths are kept

const widths = new Map<string, number>();

// Before texts are drawn: widths of characters then add up.
export function useFont(context: CanvasRenderingContext2D): void {
    context.font = kFont;
    context.fontKerning = 'none';
    context.textRendering = 'optimizeSpeed';
}

function widthOf(context: CanvasRenderingContext2D, character: string): number {
    let width = widths.get(character);
    if (width === undefined) {
        if (widths.size >= kCharactersMax) {
            widths.clear();
        }
        width = context.measureText(character).width;
        widths.set(character, width);
    }
    return width;
}

// Black or white, what is easier to read on a colour.
export function inkOn(context: CanvasRenderingContext2D, colour: string): string {
    context.fillStyle = colour;
    const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(String(context.fillStyle).slice(at, at + 2), 16) / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#000000' : '#ffffff';
}

// As much of a text as has room, with an ellipsis where it is cut; '' where not even one character has.
export function fitted(context: CanvasRenderingContext2D, text: string, pixels: number): string {
    const room = pixels - widthOf(context, kEllipsis);
    let width = 0;
    let cut = '';
    let kept = '';
    for (const character of text) {
        width += widthOf(context, character);
        if (width > pixels) {
            return cut === '' ? '' : cut + kEllipsis;
        }
        kept += character;
        cut = width <= room ? kept : cut;
    }
    return text;
}
