/**
 * The page that people answer on. Everything until the moment of sending happens on the device: questions, skip rules,
 * coins, and the view of what would be sent. Nothing is stored but remembered coins, and one request is made: the one
 * that sends what was shown.
 */
import { RememberingRandomiser, forgetCoins, freshIdentifier } from "./randomise.js";
const MOST_BUTTONS = 12; // values that are shown as buttons; more are a list to choose from
const survey = JSON.parse(byId("survey").textContent);
const answers = new Map(); // of questions that were answered, by column
let language = preferredLanguage();
let identifier = "";
function byId(id) {
    const element = document.getElementById(id);
    if (element === null)
        throw new Error(`the page must have ${id}`);
    return element;
}
function preferredLanguage() {
    for (const wanted of navigator.languages.map((tag) => tag.toLowerCase())) {
        const known = survey.languages.find((tag) => wanted === tag.toLowerCase() || wanted.startsWith(`${tag.toLowerCase()}-`));
        if (known !== undefined)
            return known;
    }
    return survey.languages[0];
}
function say(name, values = {}) {
    const words = survey.words[language][name] ?? name;
    return words.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}
function element(tag, text = "", className = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className)
        made.className = className;
    return made;
}
function columnOf(question) {
    return survey.columns.indexOf(question.column);
}
function missingOf(question) {
    return question.options.length;
}
// ---------------------------------------------------------------- the device's own store, if it may be used
function keeper() {
    try {
        return window.localStorage;
    }
    catch {
        return null;
    }
}
// ---------------------------------------------------------------- skip rules, decided here
/** The true answer to every question: what was chosen, or the value of those who are not asked. */
function trueCodes() {
    const codes = new Map();
    for (const question of survey.questions) {
        const asked = isAsked(question, codes);
        codes.set(question.column, asked ? (answers.get(question.column) ?? missingOf(question)) : question.otherwise);
    }
    return codes;
}
function isAsked(question, codes) {
    return Object.entries(question.when).every(([column, wanted]) => wanted.includes(codes.get(column)));
}
/** Those who are asked are not offered the value of those who are not. */
function isOffered(question, code) {
    return Object.keys(question.when).length === 0 || code !== question.otherwise;
}
// ---------------------------------------------------------------- the questions
function drawQuestions() {
    byId("questions").replaceChildren(...survey.questions.map(drawQuestion));
    showAsked();
}
function drawQuestion(question) {
    const group = element("fieldset");
    group.id = `question-${columnOf(question)}`;
    group.append(element("legend", question.text[language]));
    const notes = [question.help?.[language], say("kept", { kept: survey.kept[columnOf(question)] })];
    const note = element("p", notes.filter(Boolean).join(" "), "quiet");
    note.id = `${group.id}-note`;
    group.setAttribute("aria-describedby", note.id);
    group.append(note);
    const codes = question.options.map((_, code) => code).filter((code) => isOffered(question, code));
    group.append(...(codes.length > MOST_BUTTONS ? [drawList(question, codes)] : drawButtons(question, codes)));
    return group;
}
function optionWords(question, code) {
    return code === missingOf(question) ? say("refuse") : question.options[code][language];
}
function drawButtons(question, codes) {
    return [...codes, missingOf(question)].map((code) => {
        const label = element("label", "", code === missingOf(question) ? "choice apart" : "choice");
        const input = document.createElement("input");
        input.type = "radio";
        input.name = question.column;
        input.value = String(code);
        input.checked = answers.get(question.column) === code;
        input.addEventListener("change", () => choose(question, code));
        label.append(input, element("span", optionWords(question, code)));
        return label;
    });
}
function drawList(question, codes) {
    const list = document.createElement("select");
    list.setAttribute("aria-label", question.text[language]);
    for (const code of [missingOf(question), ...codes]) {
        list.add(new Option(optionWords(question, code), String(code), false, answers.get(question.column) === code));
    }
    list.addEventListener("change", () => choose(question, Number(list.value)));
    return list;
}
function choose(question, code) {
    answers.set(question.column, code);
    showAsked();
}
function showAsked() {
    const codes = trueCodes();
    for (const question of survey.questions)
        byId(`question-${columnOf(question)}`).hidden = !isAsked(question, codes);
}
// ---------------------------------------------------------------- what would be sent
let sent = ""; // exactly what will leave this device
const thrown = new Map(); // coins are thrown once for the same answers, whatever is shown
function review() {
    const codes = trueCodes();
    const labels = survey.labels;
    const randomiser = new RememberingRandomiser(survey.law, survey.columns, labels, keeper());
    const own = survey.columns.map((column) => codes.get(column));
    const drawn = thrown.get(own.join()) ?? randomiser.randomise(own);
    thrown.set(own.join(), drawn);
    const values = survey.columns.map((_, i) => labels[i][drawn[i]] ?? null);
    if (identifier === "")
        identifier = freshIdentifier();
    const message = {
        id: identifier,
        answers: Object.fromEntries(survey.columns.map((column, i) => [column, values[i]])),
    };
    if (survey.invited)
        message["invitation"] = invitation();
    sent = JSON.stringify(message);
    byId("sent-rows").replaceChildren(...survey.questions.map((question) => reviewRow(question, codes, drawn)));
    byId("exact").textContent = sent;
    byId("remembered").textContent = say(randomiser.remembers ? "remembered" : "not_remembered");
    byId("forget").hidden = !randomiser.remembers;
    byId("forgotten").textContent = "";
    byId("status").replaceChildren();
    byId("send").disabled = false;
    byId("send").textContent = say("send");
    show("review");
}
function reviewRow(question, codes, drawn) {
    const row = element("tr");
    const own = codes.get(question.column);
    const published = drawn[columnOf(question)];
    const words = (code) => (code === missingOf(question) ? say("no_value") : optionWords(question, code));
    const shown = isAsked(question, codes) ? optionWords(question, own) : say("not_asked");
    const sentWords = isOffered(question, published) ? words(published) : say("not_asked");
    const cells = [question.text[language], shown, say(published === own ? "coin_kept" : "coin_changed"), sentWords];
    const names = ["question", "your_answer", "coin", "sent"];
    row.append(...cells.map((text, i) => {
        const cell = element(i === 0 ? "th" : "td", text);
        if (i === 0)
            cell.setAttribute("scope", "row");
        cell.dataset["name"] = say(names[i]);
        return cell;
    }));
    return row;
}
// ---------------------------------------------------------------- sending, the one request
const REASONS = {
    400: "not_sent_refused",
    403: "not_sent_invitation",
    410: "not_sent_closed",
    413: "not_sent_refused",
    429: "not_sent_busy",
    503: "not_sent_full",
};
function invitation() {
    return location.hash.slice(1);
}
async function send() {
    const button = byId("send");
    button.disabled = true;
    button.textContent = say("sending");
    let reason = "not_sent_network";
    try {
        const answer = await fetch("/records", {
            method: "POST",
            body: sent,
            headers: { "content-type": "application/json" },
            credentials: "omit",
            cache: "no-store",
            redirect: "error",
            referrerPolicy: "no-referrer",
        });
        // 409: the same was received before, and only its acknowledgement was lost
        if (answer.status === 201 || answer.status === 409)
            return thank();
        reason = REASONS[answer.status] ?? "not_sent_full";
    }
    catch {
        // not reached
    }
    const notice = element("div", "", "notice bad");
    notice.append(element("h3", say("not_sent_title")), element("p", say(reason)));
    byId("status").replaceChildren(notice);
    button.disabled = false;
    button.textContent = say("again");
    button.focus();
}
function thank() {
    answers.clear();
    sent = identifier = "";
    byId("sent-rows").replaceChildren();
    byId("exact").textContent = "";
    byId("questions").replaceChildren();
    show("thanks");
}
// ---------------------------------------------------------------- the page
function show(part) {
    for (const id of ["ask", "review", "thanks", "uninvited"])
        byId(id).hidden = id !== part;
    const heading = byId(part).querySelector("h1, h2");
    heading?.focus();
    window.scrollTo(0, 0);
}
function drawWords() {
    document.documentElement.lang = language;
    document.title = survey.title[language];
    byId("title").textContent = survey.title[language];
    byId("introduction").textContent = survey.introduction?.[language] ?? "";
    const skips = survey.questions.some((question) => Object.keys(question.when).length > 0);
    const promises = [
        say("promise_coin"),
        say("promise_factor", { factor: survey.factor, epsilon: survey.epsilon }),
        say("promise_open", { refuse: say("refuse") }),
        ...(skips ? [say("promise_skip")] : []),
    ];
    byId("promises").replaceChildren(...promises.map((words) => element("li", words)));
    for (const said of document.querySelectorAll("[data-say]"))
        said.textContent = say(said.dataset["say"]);
}
function drawLanguages() {
    const list = byId("language");
    byId("languages").hidden = survey.languages.length < 2;
    for (const tag of survey.languages) {
        list.add(new Option(survey.words[tag]["language"] ?? tag, tag, false, tag === language));
    }
    list.addEventListener("change", () => {
        language = list.value;
        drawWords();
        drawQuestions();
        if (!byId("review").hidden)
            review();
    });
}
function start() {
    drawLanguages();
    drawWords();
    drawQuestions();
    byId("form").addEventListener("submit", (event) => {
        event.preventDefault();
        review();
    });
    byId("back").addEventListener("click", () => show("ask"));
    byId("send").addEventListener("click", () => void send());
    byId("forget").addEventListener("click", () => {
        const kept = keeper();
        if (kept !== null)
            forgetCoins(kept);
        byId("forgotten").textContent = say("forgotten");
    });
    byId("loading").hidden = true;
    if (survey.invited && !/^[0-9a-f]{32}$/.test(invitation()))
        show("uninvited");
    else
        byId("ask").hidden = false;
}
start();
