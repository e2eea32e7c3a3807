// The state of a page as the fragment of its address: links lead to a view. No browser needed.

type Words = Record<string, string | number | null | undefined>;

// The values of a state that differ from the initial ones.
export function changed(state: Words, atFirst: Words): Record<string, string> {
    const words = Object.keys(state).filter((word) => state[word] !== undefined && state[word] !== null && state[word] !== atFirst[word]);
    return Object.fromEntries(words.map((word) => [word, String(state[word])]));
}

export function fragmentOf(state: Record<string, string>): string {
    return Object.keys(state).map((word) => word + '=' + encodeURIComponent(state[word])).join('&');
}

// Of a fragment with or without '#'; words that can't be decoded are left out.
export function stateOf(fragment: string): Record<string, string> {
    const state: Record<string, string> = {};
    for (const part of fragment.replace(/^#/, '').split('&')) {
        const at = part.indexOf('=');
        const word = part.slice(0, at);
        if (at > 0 && /^[a-z]+$/.test(word)) {
            try {
                state[word] = decodeURIComponent(part.slice(at + 1));
            } catch {
                // cut off in the middle of a character
            }
        }
    }
    return state;
}

// A number of [least, most]; null: it is none.
export function numberOf(text: string | undefined, least: number, most: number): number | null {
    const number = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return number >= least && number <= most ? number : null;
}
