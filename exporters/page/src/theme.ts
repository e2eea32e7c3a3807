// Light and dark: the document's `data-theme`, which the style sheet and all drawings follow.

export const kFont = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';  // of drawings
const kEvent = 'perfleet-theme';

export function isDark(): boolean {
    return document.documentElement.dataset.theme === 'dark';
}

export function setTheme(dark: boolean): void {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    document.dispatchEvent(new Event(kEvent));
}

// The reader's system setting, until setTheme().
export function startTheme(): void {
    const preferred = matchMedia('(prefers-color-scheme: dark)');
    setTheme(preferred.matches);
    preferred.addEventListener('change', () => setTheme(preferred.matches));
}

export function onTheme(act: () => void, signal: AbortSignal): void {
    document.addEventListener(kEvent, act, { signal });
}

// A colour of the style sheet: ink('text') is its --text.
export function ink(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
