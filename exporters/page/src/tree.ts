// Call trees in pre-order: the frames below frame i are i + 1 to end[i] - 1. Frame 0 is the root.

export type Compare = (a: number, b: number) => number;  // of functions, by their names

export interface Tree {
    readonly count: number;
    readonly depth: Int32Array;
    readonly functions: Int32Array;
    readonly end: Int32Array;
    readonly parent: Int32Array;
    readonly depthMax: number;
    self: Float64Array;
    total: Float64Array;
}

export function makeTree(depth: Int32Array, functions: Int32Array, self: Float64Array): Tree {
    const count = depth.length;
    const end = new Int32Array(count);
    const parent = new Int32Array(count).fill(-1);
    const open: number[] = [];
    let depthMax = 0;
    for (let i = 0; i < count; i++) {
        while (open.length > depth[i]) {
            end[open.pop()!] = i;
        }
        parent[i] = open.length ? open[open.length - 1] : -1;
        open.push(i);
        depthMax = Math.max(depthMax, depth[i]);
    }
    while (open.length) {
        end[open.pop()!] = count;
    }
    return { count, depth, functions, end, parent, depthMax, self, total: totalsOf(parent, self) };
}

export function totalsOf(parent: Int32Array, self: Float64Array): Float64Array {
    const total = Float64Array.from(self);
    for (let i = parent.length - 1; i > 0; i--) {
        total[parent[i]] += total[i];
    }
    return total;
}

// The frames of a function at or below frame `first` without another such frame above them: each sample once.
export function outermostFrames(tree: Tree, number: number, first = 0): number[] {
    const frames: number[] = [];
    for (let i = first; i < tree.end[first];) {
        if (tree.functions[i] === number) {
            frames.push(i);
            i = tree.end[i];
        } else {
            i++;
        }
    }
    return frames;
}

// The frame of a function with the greatest total; -1: it has none.
export function largestFrame(tree: Tree, total: Float64Array, number: number): number {
    let best = -1;
    for (let i = 1; i < tree.count; i++) {
        if (tree.functions[i] === number && total[i] > 0 && (best < 0 || total[i] > total[best])) {
            best = i;
        }
    }
    return best;
}

export interface Sums { self: Float64Array; total: Float64Array }

// Self and total of each function, at or below the frames [roots], none of which is below another.
export function functionSums(tree: Tree, functionCount: number, roots = [0]): Sums {
    const self = new Float64Array(functionCount);
    const total = new Float64Array(functionCount);
    const openUntil = new Int32Array(functionCount);
    for (const first of roots) {
        for (let i = first; i < tree.end[first]; i++) {
            const number = tree.functions[i];
            if (number < 0) {
                continue;
            }
            self[number] += tree.self[i];
            if (i >= openUntil[number]) {
                total[number] += tree.total[i];
                openUntil[number] = tree.end[i];
            }
        }
    }
    return { self, total };
}

// The tree with the own samples of the frames of [kept] alone.
export function restrictedTo(tree: Tree, kept: ReadonlySet<number>): Tree {
    const self = tree.self.map((value, i) => kept.has(i) ? value : 0);
    return { ...tree, self, total: totalsOf(tree.parent, self) };
}

// Frames of one chain of functions, of several places of a tree.
class MergedFrame {
    self = 0;
    readonly children = new Map<number, MergedFrame>();

    constructor(readonly number: number) {}

    child(number: number): MergedFrame {
        let known = this.children.get(number);
        if (known === undefined) {
            known = new MergedFrame(number);
            this.children.set(number, known);
        }
        return known;
    }
}

function flatten(root: MergedFrame, compare: Compare): Tree {
    const depth: number[] = [];
    const functions: number[] = [];
    const self: number[] = [];
    const open: [MergedFrame, number][] = [[root, 0]];
    while (open.length) {
        const [node, at] = open.pop()!;
        depth.push(at);
        functions.push(node.number);
        self.push(node.self);
        const children = [...node.children.values()].sort((a, b) => compare(b.number, a.number));
        for (const child of children) {
            open.push([child, at + 1]);
        }
    }
    return makeTree(Int32Array.from(depth), Int32Array.from(functions), Float64Array.from(self));
}

// The callees of a function, of all its calls.
export function calleesOf(tree: Tree, number: number, compare: Compare): Tree {
    const root = new MergedFrame(number);
    const nodes: MergedFrame[] = [];
    for (const first of outermostFrames(tree, number)) {
        for (let i = first; i < tree.end[first]; i++) {
            const level = tree.depth[i] - tree.depth[first];
            nodes[level] = level === 0 ? root : nodes[level - 1].child(tree.functions[i]);
            nodes[level].self += tree.self[i];
        }
    }
    return flatten(root, compare);
}

// The callers of a function: its callers are below it in this tree.
export function callersOf(tree: Tree, number: number, compare: Compare): Tree {
    const root = new MergedFrame(number);
    for (const first of outermostFrames(tree, number)) {
        let node = root;
        for (let i = tree.parent[first]; i > 0; i = tree.parent[i]) {
            node = node.child(tree.functions[i]);
        }
        node.self += tree.total[first];
    }
    return flatten(root, compare);
}

// Functions by their own samples: the innermost frames are below the root, above each its callers.
export function invertedOf(tree: Tree, compare: Compare): Tree {
    const root = new MergedFrame(tree.functions[0]);
    for (let i = 1; i < tree.count; i++) {
        if (tree.self[i] > 0) {
            let node = root;
            for (let at = i; at > 0; at = tree.parent[at]) {
                node = node.child(tree.functions[at]);
            }
            node.self += tree.self[i];
        }
    }
    root.self = tree.self[0];
    return flatten(root, compare);
}

// Functions from a frame to the one below the root.
function chainOf(tree: Tree, frame: number): number[] {
    const chain: number[] = [];
    for (; frame > 0; frame = tree.parent[frame]) {
        chain.push(tree.functions[frame]);
    }
    return chain;
}

// Whether the functions from a frame towards the root begin with [chain].
function hasChain(tree: Tree, frame: number, chain: number[]): boolean {
    for (const number of chain) {
        if (frame <= 0 || tree.functions[frame] !== number) {
            return false;
        }
        frame = tree.parent[frame];
    }
    return true;
}

// The frames of the tree whose own samples a frame of its inverted one holds.
export function sourcesOf(tree: Tree, inverted: Tree, frame: number): number[] {
    const chain = chainOf(inverted, frame).reverse();
    return [...tree.self.keys()].filter((i) => hasChain(tree, i, chain));
}

// The frames of the tree that are `callee` of calleesOf() where the function was called by `caller` of callersOf(); 0: by any.
export function calledFramesOf(tree: Tree, callees: Tree, callee: number, callers: Tree, caller: number): number[] {
    const called = chainOf(callees, callee);
    const calling = chainOf(callers, caller).reverse();
    const frames: number[] = [];
    for (const first of outermostFrames(tree, callees.functions[0])) {
        for (let i = first; i < tree.end[first] && hasChain(tree, tree.parent[first], calling); i++) {
            if (tree.depth[i] - tree.depth[first] === called.length && hasChain(tree, i, called)) {
                frames.push(i);
            }
        }
    }
    return frames;
}
