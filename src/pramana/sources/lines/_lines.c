/* Lines of CSV: cells of codes written, and cells read into codes. Pure functions of their buffers that release the
 * interpreter lock, so threads can share a file.
 *
 * Reading knows the plain form alone (RFC 4180: a quoted cell is quoted from end to end, quotes inside are doubled,
 * every line has as many cells as the header). What is not so is left, whole, to a reader that knows more. */
#include "../../_buffers.h"
#ifdef __SSE2__ /* every x86-64 has it */
#include <emmintrin.h>
#endif

#define WIDE 16 /* bytes that are copied at once; texts and the room for lines have so many to spare */
#define MOST_CELLS 65536
#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

/* ------------------------------------------------------------------ writing */
typedef struct {
    Buf codes, texts, ends;
    int width;
    uint64_t size;
} Column;

static int take_columns(PyObject *columns, Column *of, Py_ssize_t count, Py_ssize_t *rows) {
    for (Py_ssize_t c = 0; c < count; c++) {
        PyObject *item = PySequence_GetItem(columns, c), *codes_o, *texts_o, *ends_o;
        if (!item) return -1;
        if (!PyTuple_Check(item)) {
            Py_DECREF(item);
            PyErr_SetString(PyExc_TypeError, "a column must be a tuple of codes, texts and their ends");
            return -1;
        }
        int failed = !PyArg_ParseTuple(item, "OOO", &codes_o, &texts_o, &ends_o) ||
                     take(codes_o, &of[c].codes, 0, 0, "codes") || take(texts_o, &of[c].texts, 1, 0, "texts") ||
                     take(ends_o, &of[c].ends, 8, 0, "ends");
        Py_DECREF(item);
        if (failed || !(of[c].width = code_width(&of[c].codes, &of[c].codes))) return -1;
        Py_ssize_t own = of[c].codes.view.len / of[c].width;
        if (c == 0) *rows = own;
        if (same_length(*rows, own, "codes")) return -1;
        const int64_t *ends = of[c].ends.view.buf;
        Py_ssize_t n = of[c].ends.view.len / 8;
        int64_t spare = (int64_t)of[c].texts.view.len - WIDE;
        int wrong = n < 1 || ends[0] != 0 || ends[n - 1] > spare;
        for (Py_ssize_t i = 1; !wrong && i < n; i++) wrong = ends[i] < ends[i - 1];
        if (wrong) {
            PyErr_SetString(PyExc_ValueError, "texts must lie one after the other, with 16 bytes to spare");
            return -1;
        }
        of[c].size = (uint64_t)(n - 1);
    }
    return 0;
}

static inline uint64_t code_at(const Column *column, Py_ssize_t i) {
    switch (column->width) {
        case 1: return ((const uint8_t *)column->codes.view.buf)[i];
        case 2: return ((const uint16_t *)column->codes.view.buf)[i];
        default: return ((const uint32_t *)column->codes.view.buf)[i];
    }
}

static PyObject *write_lines(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *columns_o, *out_o, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO", &columns_o, &out_o)) return NULL;
    Py_ssize_t count = PySequence_Size(columns_o), rows = 0;
    if (count < 0) return NULL;
    Buf out = {.held = 0};
    Column *columns = calloc((size_t)count + 1, sizeof(Column));
    if (!columns) return PyErr_NoMemory();
    if (take_columns(columns_o, columns, count, &rows) || take(out_o, &out, 1, 1, "out")) goto done;
    char *at = out.view.buf, *last = at + out.view.len;
    int wrong = 0, full = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < rows && !wrong && !full; i++)
        for (Py_ssize_t c = 0; c < count; c++) {
            uint64_t code = code_at(&columns[c], i);
            if (code >= columns[c].size) {
                wrong = 1;
                break;
            }
            const int64_t *ends = columns[c].ends.view.buf;
            const char *text = (const char *)columns[c].texts.view.buf + ends[code];
            int64_t length = ends[code + 1] - ends[code];
            if (last - at < length + WIDE) {
                full = 1;
                break;
            }
            memcpy(at, text, WIDE);
            if (length > WIDE) memcpy(at + WIDE, text + WIDE, (size_t)(length - WIDE));
            at += length;
        }
    Py_END_ALLOW_THREADS
    if (wrong) PyErr_SetString(PyExc_ValueError, "codes must lie below the number of texts");
    else if (full) PyErr_SetString(PyExc_ValueError, "out must have room for the lines and 16 bytes more");
    else result = PyLong_FromSsize_t((Py_ssize_t)(at - (char *)out.view.buf));
done:
    for (Py_ssize_t c = 0; c < count; c++) {
        drop(&columns[c].codes); drop(&columns[c].texts); drop(&columns[c].ends);
    }
    drop(&out);
    free(columns);
    return result;
}

/* Whether there is an odd number of quotes: what follows the last of them is then within quotes. */
static int odd_quotes(const char *text, Py_ssize_t n) {
    Py_ssize_t i = 0;
    int odd = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    __m128i odds = _mm_setzero_si128();
    for (; i + 16 <= n; i += 16)
        odds = _mm_xor_si128(odds, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(text + i)), quote));
    odd = __builtin_parity((unsigned)_mm_movemask_epi8(odds));
#endif
    for (; i < n; i++) odd ^= text[i] == '"';
    return odd;
}

/* ------------------------------------------------------------------ where lines end
 * The place after the last line that ends in `data`, line ends within quotes left out; 0 where none does. */
static PyObject *last_end(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *data_o;
    if (!PyArg_ParseTuple(args, "O", &data_o)) return NULL;
    Buf data = {.held = 0};
    if (take(data_o, &data, 1, 0, "data")) {
        drop(&data);
        return NULL;
    }
    const char *text = data.view.buf;
    Py_ssize_t end = data.view.len;
    Py_BEGIN_ALLOW_THREADS
    int quoted = odd_quotes(text, end);
    for (; end > 0 && (text[end - 1] != '\n' || quoted); end--) quoted ^= text[end - 1] == '"';
    Py_END_ALLOW_THREADS
    drop(&data);
    return PyLong_FromSsize_t(end);
}

/* ------------------------------------------------------------------ reading */
typedef struct {
    uint64_t head; /* the first eight bytes */
    const char *text;
    uint32_t length, number; /* number 0 is an empty slot */
} Slot;

typedef struct {
    Slot *slots;
    uint64_t mask;
    uint32_t used;
    uint16_t *codes;
    const char **texts; /* of each number, and their lengths */
    uint32_t *lengths;
} Table;

static inline uint64_t mixed(uint64_t x) {
    x *= 0x9E3779B97F4A7C15ULL;
    return x ^ (x >> 29);
}

static inline uint64_t eight(const char *text) {
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

static inline uint64_t hashed(const char *text, uint32_t length, uint64_t head) {
    uint64_t hash = mixed(head ^ length);
    if (length > 8) { /* the last eight bytes, which may be some of the first, and what lies between */
        hash = mixed(hash ^ eight(text + length - 8));
        for (uint32_t i = 8; i + 8 < length; i += 8) hash = mixed(hash ^ eight(text + i));
    }
    return hash ^ (hash >> 32);
}

static inline int same_text(const char *one, const char *other, uint32_t length) { /* alike in the first eight */
    if (length <= 8) return 1;
    if (length <= 16) return eight(one + length - 8) == eight(other + length - 8);
    return memcmp(one + 8, other + 8, length - 8) == 0;
}

static int grown(Table *table) {
    uint64_t size = 2 * (table->mask + 1);
    Slot *slots = calloc(size, sizeof(Slot));
    const char **texts = realloc(table->texts, size / 2 * sizeof(char *));
    if (texts) table->texts = texts;
    uint32_t *lengths = realloc(table->lengths, size / 2 * sizeof(uint32_t));
    if (lengths) table->lengths = lengths;
    if (!slots || !texts || !lengths) {
        free(slots);
        return -1;
    }
    for (uint64_t s = 0; table->slots && s <= table->mask; s++) {
        Slot *old = &table->slots[s];
        if (!old->number) continue;
        uint64_t at = hashed(old->text, old->length, old->head) & (size - 1);
        while (slots[at].number) at = (at + 1) & (size - 1);
        slots[at] = *old;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = size - 1;
    return 0;
}

/* The number of a text, counted from 0 in the order in which texts come; -1 where there are too many of them. */
static inline int32_t number_of(Table *table, const char *text, uint32_t length, uint64_t head) {
    uint64_t at = hashed(text, length, head) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        Slot *slot = &table->slots[at];
        if (!slot->number) break;
        if (slot->head == head && slot->length == length && same_text(slot->text, text, length))
            return (int32_t)slot->number - 1;
    }
    if (table->used == MOST_CELLS) return -1;
    table->texts[table->used] = text;
    table->lengths[table->used] = length;
    table->slots[at] = (Slot){head, text, length, ++table->used};
    int32_t number = (int32_t)table->used - 1;
    return 2 * table->used > table->mask && grown(table) ? -1 : number;
}

static inline uint64_t zeros(uint64_t x) { return (x - ONES) & ~x & HIGHS; }

/* The first byte from `at` on that ends a plain cell or is a quote; `end` where there is none. */
static inline const char *cell_end(const char *at, const char *end, char delimiter, uint64_t repeated) {
#ifdef __SSE2__
    const __m128i border = _mm_set1_epi8(delimiter), line = _mm_set1_epi8('\n'), back = _mm_set1_epi8('\r'),
                  quote = _mm_set1_epi8('"');
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, border), _mm_cmpeq_epi8(bytes, line)),
                                    _mm_or_si128(_mm_cmpeq_epi8(bytes, back), _mm_cmpeq_epi8(bytes, quote)));
        int hit = _mm_movemask_epi8(hits);
        if (hit) return at + __builtin_ctz((unsigned)hit);
        at += 16;
    }
#endif
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t hit = zeros(word ^ repeated) | zeros(word ^ (ONES * '\n')) | zeros(word ^ (ONES * '\r')) |
                       zeros(word ^ (ONES * '"'));
        if (hit) return at + (__builtin_ctzll(hit) >> 3);
        at += 8;
    }
#else
    (void)repeated;
#endif
    while (at < end && *at != delimiter && *at != '\n' && *at != '\r' && *at != '"') at++;
    return at;
}

static inline uint64_t head_of(const char *text, uint32_t length, const char *end) {
    uint64_t word = 0;
    if (length >= 8) memcpy(&word, text, 8);
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    else if (end - text >= 8) {
        memcpy(&word, text, 8);
        word &= ((uint64_t)1 << (8 * length)) - 1;
    }
#endif
    else memcpy(&word, text, length);
    (void)end;
    return word;
}

/* Lines of `fields` cells each, the wanted cells as numbers. How many there are, or -1 where something is unusual. */
static Py_ssize_t read_cells(const char *at, const char *end, char delimiter, Py_ssize_t fields,
                             const int32_t *wanted, Table *tables, int skip_empty, Py_ssize_t most) {
    const uint64_t repeated = ONES * (uint8_t)delimiter;
    Py_ssize_t rows = 0;
    while (at < end) {
        if (skip_empty && (*at == '\n' || (*at == '\r' && end - at > 1 && at[1] == '\n'))) {
            at += *at == '\n' ? 1 : 2;
            continue;
        }
        if (rows == most) return -1;
        for (Py_ssize_t field = 0; field < fields; field++) {
            const char *text = at, *stop;
            if (at < end && *at == '"') {
                text = ++at;
                for (;; at += 2) { /* to the quote that is not doubled */
                    at = memchr(at, '"', (size_t)(end - at));
                    if (!at) return -1;
                    if (end - at < 2 || at[1] != '"') break;
                }
                stop = at++;
            } else {
                stop = at = cell_end(at, end, delimiter, repeated);
            }
            if (field + 1 < fields) {
                if (at == end || *at != delimiter) return -1;
                at++;
            } else if (at < end && *at == '\n') {
                at++;
            } else if (end - at > 1 && *at == '\r' && at[1] == '\n') {
                at += 2;
            } else if (at < end) {
                return -1;
            }
            if (wanted[field] < 0) continue;
            if (stop - text > INT32_MAX) return -1;
            uint32_t length = (uint32_t)(stop - text);
            Table *table = &tables[wanted[field]];
            int32_t number = number_of(table, text, length, head_of(text, length, end));
            if (number < 0) return -1;
            table->codes[rows] = (uint16_t)number;
        }
        rows++;
    }
    return rows;
}

static PyObject *texts_of(const Table *table) {
    PyObject *texts = PyList_New(table->used);
    for (uint32_t i = 0; texts && i < table->used; i++) {
        PyObject *text = PyBytes_FromStringAndSize(table->texts[i], table->lengths[i]);
        if (!text || PyList_SetItem(texts, i, text) < 0) Py_CLEAR(texts);
    }
    return texts;
}

static PyObject *found_columns(const Table *tables, Py_ssize_t count, Py_ssize_t rows) {
    PyObject *columns = PyList_New(count);
    for (Py_ssize_t c = 0; columns && c < count; c++) {
        PyObject *codes = PyBytes_FromStringAndSize((const char *)tables[c].codes, rows * 2);
        PyObject *texts = codes ? texts_of(&tables[c]) : NULL;
        PyObject *pair = texts ? PyTuple_Pack(2, codes, texts) : NULL;
        Py_XDECREF(codes);
        Py_XDECREF(texts);
        if (!pair || PyList_SetItem(columns, c, pair) < 0) Py_CLEAR(columns);
    }
    if (!columns) return NULL;
    PyObject *result = Py_BuildValue("nN", rows, columns);
    return result;
}

static PyObject *read_lines(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *data_o, *wanted_o, *result = NULL;
    int delimiter, skip_empty;
    if (!PyArg_ParseTuple(args, "OiOp", &data_o, &delimiter, &wanted_o, &skip_empty)) return NULL;
    Buf data = {.held = 0}, wanted = {.held = 0};
    Table *tables = NULL;
    Py_ssize_t count = 0, rows = -1, most = 1;
    if (take(data_o, &data, 1, 0, "data") || take(wanted_o, &wanted, 4, 0, "wanted")) goto done;
    Py_ssize_t fields = wanted.view.len / 4;
    const int32_t *places = wanted.view.buf;
    for (Py_ssize_t f = 0; f < fields; f++)
        if (places[f] >= count) count = (Py_ssize_t)places[f] + 1;
    if (fields < 1 || count > fields || delimiter < 1 || delimiter > 127 || strchr("\n\r\"", delimiter)) {
        PyErr_SetString(PyExc_ValueError, "a delimiter must be a plain character and wanted number some fields");
        goto done;
    }
    tables = calloc((size_t)count + 1, sizeof(Table));
    if (!tables) {
        PyErr_NoMemory();
        goto done;
    }
    int short_of_room = 0;
    Py_BEGIN_ALLOW_THREADS
    const char *text = data.view.buf;
    for (Py_ssize_t i = 0; i < data.view.len; i++) most += text[i] == '\n';
    for (Py_ssize_t c = 0; c < count && !short_of_room; c++) {
        tables[c].mask = 127; /* twice as many to begin with */
        tables[c].codes = calloc((size_t)most, sizeof(uint16_t));
        short_of_room = !tables[c].codes || grown(&tables[c]);
    }
    if (!short_of_room)
        rows = read_cells(text, text + data.view.len, (char)delimiter, fields, places, tables, skip_empty, most);
    Py_END_ALLOW_THREADS
    if (short_of_room) PyErr_NoMemory();
    else if (rows < 0) result = Py_NewRef(Py_None);
    else result = found_columns(tables, count, rows);
done:
    for (Py_ssize_t c = 0; tables && c < count; c++) {
        free(tables[c].slots); free(tables[c].codes); free(tables[c].texts); free(tables[c].lengths);
    }
    free(tables);
    drop(&data); drop(&wanted);
    return result;
}

static PyMethodDef methods[] = {
    {"write_lines", write_lines, METH_VARARGS,
     "write_lines(columns, out): lines of cells; a column is (codes, texts of the cells, where they end)."},
    {"last_end", last_end, METH_VARARGS, "last_end(data): the place after the last line that ends, quotes seen."},
    {"read_lines", read_lines, METH_VARARGS,
     "read_lines(data, delimiter, wanted, skip_empty): rows and (codes, texts) of columns; None if unusual."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_lines", "Hot loops of CSV.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__lines(void) { return PyModule_Create(&definition); }
