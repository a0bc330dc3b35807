/**
 * Randomise one person's answers on their own device, by the law that a certificate states.
 *
 * A law is integers out of ONE = 2^62. A coin is the upper 62 bits of a 64-bit word, and every decision is a
 * comparison of integers: no floating-point number takes part. Given the same words, the draws are those of Pramana's
 * own samplers; `vectors.json` beside this module holds examples that both must follow.
 */
export declare const ONE: bigint;
/** How one answer is drawn, as a certificate states it; large integers are text. */
export type Channel = {
    readonly kind: "retention";
    readonly size: number;
    readonly step: string;
} | {
    readonly kind: "redrawn";
    readonly size: number;
} | {
    readonly kind: "dense";
    readonly weights: readonly (readonly string[])[];
};
/** A coin for each answer, or one for all of them. */
export type Law = {
    readonly coin: "attribute";
    readonly channels: Readonly<Record<string, Channel>>;
} | {
    readonly coin: "record";
    readonly sizes: Readonly<Record<string, number>>;
    readonly bound: string;
};
/** A source of uniform 64-bit words. */
export type Words = () => bigint;
/** Draws records: codes of the true answers in, codes of what is sent out, in the order of the columns. */
export interface Randomiser {
    readonly sizes: readonly number[];
    randomise(codes: readonly number[]): number[];
}
/** Words from the system's own source of randomness, each used once and wiped. */
export declare function systemWords(): Words;
/**
 * A randomiser for `columns`. It reads one word for each of them in this order and, where the whole record has one
 * coin, a word for that coin before them.
 */
export declare function randomiserOf(law: Law, columns: readonly string[], words?: Words): Randomiser;
/** What is needed of `localStorage`. */
export interface Keeper {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
}
/**
 * A randomiser that throws the coins of a question once: whoever is asked again and answers the same sends the same.
 *
 * Else the noise would average away over many rounds. What is kept is drawn for every possible answer at once, so
 * that it does not tell which answer was given. Where nothing can be kept, `remembers` is false and coins are fresh.
 */
export declare class RememberingRandomiser implements Randomiser {
    private readonly law;
    private readonly columns;
    private readonly keeper;
    private readonly words;
    readonly sizes: readonly number[];
    readonly remembers: boolean;
    private readonly tables;
    private readonly fresh;
    constructor(law: Law, columns: readonly string[], labels: readonly (readonly string[])[], keeper: Keeper | null, words?: Words);
    randomise(codes: readonly number[]): number[];
    /** For each answer that can be given what is sent, from the keeper or drawn and kept now; null if it cannot be. */
    private remembered;
    private one;
    private whole;
    private split;
}
/** Forget all coins: who answers the same question after this sends a second draw of it, which tells more. */
export declare function forgetCoins(keeper: Keeper): void;
/** An identifier that only this device knows, so that what is sent twice by accident is counted once. */
export declare function freshIdentifier(words?: Words): string;
