/** The organiser's results, kept current: the same page is asked for again, and its results take the old ones' place. */

const EVERY = 3000; // milliseconds

async function renew(): Promise<void> {
  const old = document.getElementById("results");
  if (old === null || document.hidden) return;
  try {
    const answer = await fetch("/organiser", { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("results");
    if (fresh !== null && fresh.dataset["records"] !== old.dataset["records"]) old.replaceWith(fresh);
  } catch {
    // the server is away: what is shown stays
  }
}

if (document.getElementById("results")?.dataset["open"] === "yes") setInterval(() => void renew(), EVERY);

export {};
