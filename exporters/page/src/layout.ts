// The places of frames: from left[i] on, as wide as their total, in samples.
import type { Tree } from './tree.js';

export interface Viewport { from: number; to: number; width: number; least: number; firstDepth: number; lastDepth: number }

// Siblings in the tree's order, or `bySize` the greatest first.
export function layOut(tree: Tree, total: Float64Array, bySize: boolean): Float64Array {
    const left = new Float64Array(tree.count);
    const next = new Float64Array(tree.count);
    const place = (i: number) => {
        left[i] = next[tree.parent[i]];
        next[tree.parent[i]] += total[i];
        next[i] = left[i];
    };
    if (!bySize) {
        for (let i = 1; i < tree.count; i++) {
            place(i);
        }
        return left;
    }
    for (let i = 0; i < tree.count; i++) {
        const children: number[] = [];
        for (let child = i + 1; child < tree.end[i]; child = tree.end[child]) {
            children.push(child);
        }
        children.sort((a, b) => total[b] - total[a] || a - b);
        children.forEach(place);
    }
    return left;
}

// Calls draw(frame, x, width) for each visible frame: of [from, to) samples on `width` pixels, at depths [firstDepth,
// lastDepth]. Frames narrower than `least` pixels are skipped with all below them; at most one of them a pixel is
// drawn.
export function visitVisible(tree: Tree, total: Float64Array, left: Float64Array, view: Viewport, draw: (frame: number, x: number, width: number) => void): number {
    const scale = view.width / (view.to - view.from);
    const lastPixel = new Int32Array(tree.depthMax + 2).fill(-1);
    let visited = 0;
    for (let i = 0; i < tree.count;) {
        visited++;
        const x = (left[i] - view.from) * scale;
        const width = total[i] * scale;
        if (!(width > 0) || x + width <= 0 || x >= view.width || tree.depth[i] > view.lastDepth) {
            i = tree.end[i];
            continue;
        }
        const isSeen = tree.depth[i] >= view.firstDepth;
        if (width < view.least) {
            const pixel = Math.floor(x);
            if (isSeen && lastPixel[tree.depth[i]] !== pixel) {
                lastPixel[tree.depth[i]] = pixel;
                draw(i, pixel, 1);
            }
            i = tree.end[i];
            continue;
        }
        if (isSeen) {
            draw(i, x, width);
        }
        i++;
    }
    return visited;
}

// The frame at a place; -1: none.
export function frameAt(tree: Tree, total: Float64Array, left: Float64Array, depth: number, sample: number): number {
    let i = 0;
    if (depth < 0 || !(sample >= 0 && sample < total[0])) {
        return -1;
    }
    while (tree.depth[i] < depth) {
        let child = i + 1;
        for (; child < tree.end[i]; child = tree.end[child]) {
            if (sample >= left[child] && sample < left[child] + total[child]) {
                break;
            }
        }
        if (child >= tree.end[i]) {
            return -1;
        }
        i = child;
    }
    return i;
}
