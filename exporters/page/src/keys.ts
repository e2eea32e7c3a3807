// Keys of the document. Where several views are shown, a key is for the view that was used last.

export type Acts = Record<string, () => void>;

const kViews: HTMLElement[] = [];
let lastUsed: HTMLElement | undefined;

// `acts`: by key, for keys that the rest of the page doesn't use. Without `root` they apply everywhere on the page.
export function listenToKeys(acts: Acts, signal: AbortSignal, root?: HTMLElement): void {
    if (root !== undefined) {
        kViews.push(root);
        const use = () => lastUsed = root;
        root.addEventListener('focusin', use, { signal });
        root.addEventListener('pointerdown', use, { signal });
        signal.addEventListener('abort', () => {
            kViews.splice(kViews.indexOf(root), 1);
            lastUsed = lastUsed === root ? undefined : lastUsed;
        });
    }
    document.addEventListener('keydown', (event) => {
        const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest('input, select, textarea, dialog');
        if (!isTaken && Object.hasOwn(acts, event.key) && (root === undefined || root === (lastUsed ?? kViews[0]))) {
            event.preventDefault();
            acts[event.key]();
        }
    }, { signal });
}
