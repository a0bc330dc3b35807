/* Equivalence classes: rows packed into keys of one or more 64-bit words, grouped by hashing, and rolled up to
 * more general levels without going back to the rows. Every function is a pure function of its buffers, holds no
 * state and releases the interpreter lock. */
#include "_buffers.h"

#define MOST_WORDS 64
#define BLOCK 32

static PyObject *wrong(const char *text) {
    PyErr_SetString(PyExc_ValueError, text);
    return NULL;
}

/* ------------------------------------------------------------------ fields of a key
 * A field is four integers: word, shift, bits, and where its table of 2^bits entries starts. */
typedef struct {
    int word, shift;
    uint64_t mask;
    Py_ssize_t start;
} Field;

static int read_fields(const Buf *fields, Py_ssize_t words, Py_ssize_t entries, Field *out) {
    const int64_t *f = fields->view.buf;
    Py_ssize_t n = fields->view.len / 32;
    for (Py_ssize_t i = 0; i < n; i++, f += 4) {
        if (f[0] < 0 || f[0] >= words || f[1] < 0 || f[2] < 0 || f[2] > 32 || f[1] > 64 - f[2] || f[3] < 0 ||
            f[3] > entries - ((int64_t)1 << f[2]))
            return -1;
        out[i].word = (int)f[0];
        out[i].shift = (int)(f[1] & 63); /* a field of no bits may stand at 64; its mask is zero */
        out[i].mask = ((uint64_t)1 << f[2]) - 1;
        out[i].start = (Py_ssize_t)f[3];
    }
    return 0;
}

/* ------------------------------------------------------------------ pack: keys[i][word] |= codes[i] << shift */
#define PACK(T)                                                                                      \
    static void pack_##T(const T *codes, uint64_t *keys, Py_ssize_t n, Py_ssize_t words, int shift) { \
        for (Py_ssize_t i = 0; i < n; i++) keys[i * words] |= (uint64_t)codes[i] << shift;           \
    }
PACK(uint8_t)
PACK(uint16_t)
PACK(uint32_t)

static PyObject *pack(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *codes_o, *keys_o;
    Py_ssize_t words, word;
    int shift;
    if (!PyArg_ParseTuple(args, "OOnni", &codes_o, &keys_o, &words, &word, &shift)) return NULL;
    Buf codes = {.held = 0}, keys = {.held = 0};
    PyObject *result = NULL;
    if (take(codes_o, &codes, 0, 0, "codes") || take(keys_o, &keys, 8, 1, "keys")) goto done;
    Py_ssize_t width = codes.view.itemsize;
    if (words < 1 || words > MOST_WORDS || word < 0 || word >= words || shift < 0 || shift > 63 ||
        (width != 1 && width != 2 && width != 4) || codes.view.len / width * words != keys.view.len / 8) {
        wrong("codes must be unsigned integers of 1, 2 or 4 bytes, one for each key");
        goto done;
    }
    Py_ssize_t n = codes.view.len / width;
    uint64_t *first = (uint64_t *)keys.view.buf + word;
    Py_BEGIN_ALLOW_THREADS
    if (width == 1) pack_uint8_t(codes.view.buf, first, n, words, shift);
    else if (width == 2) pack_uint16_t(codes.view.buf, first, n, words, shift);
    else pack_uint32_t(codes.view.buf, first, n, words, shift);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    drop(&codes); drop(&keys);
    return result;
}

/* ------------------------------------------------------------------ roll
 * Each source key is kept where `keep` has ones, and its fields in `ops` go through their tables (whose entries
 * are already shifted into place). Equal new keys become one group, in the order met; counts add up. The slots
 * of the hash table are small and grow with the groups, so that few groups stay in cache however many rows. */
typedef struct {
    uint32_t *slots; /* group + 1, or 0 */
    int bits;
} Table;

static inline uint64_t mixed(const uint64_t *key, const int words) {
    uint64_t h = 0;
    for (int w = 0; w < words; w++) {
        h ^= key[w];
        h *= UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    return h * UINT64_C(0xD6E8FEB86659FD93);
}

static int grown(Table *table, const uint64_t *keys, uint32_t groups, const int words) {
    int bits = table->bits + 2;
    uint32_t *slots = calloc((size_t)1 << bits, sizeof(uint32_t));
    if (!slots) return -1;
    uint64_t last = ((uint64_t)1 << bits) - 1;
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t s = mixed(keys + (size_t)g * words, words) >> (64 - bits);
        while (slots[s]) s = (s + 1) & last;
        slots[s] = g + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->bits = bits;
    return 0;
}

typedef struct {
    const uint64_t *keys, *keep, *tables;
    const uint32_t *counts; /* NULL: every row counts one */
    const Field *ops;
    Py_ssize_t n_ops, n;
    uint64_t *out_keys;
    uint32_t *out_counts;
    uint32_t *index; /* NULL when not wanted */
} Roll;

static inline __attribute__((always_inline)) int64_t rolled(const Roll *r, const int words, const int columns) {
    Table table = {.slots = calloc(256, sizeof(uint32_t)), .bits = 8};
    if (!table.slots) return -1;
    uint32_t groups = 0;
    uint64_t fresh[BLOCK * MOST_WORDS];
    uint64_t hashes[BLOCK];
    for (Py_ssize_t start = 0; start < r->n; start += BLOCK) {
        int size = r->n - start < BLOCK ? (int)(r->n - start) : BLOCK;
        for (int i = 0; i < size; i++) {
            const uint64_t *from = r->keys + (start + i) * words;
            uint64_t *to = fresh + i * words;
            for (int w = 0; w < words; w++) to[w] = from[w] & r->keep[w];
            for (Py_ssize_t o = 0; o < r->n_ops; o++) {
                const Field *f = r->ops + o;
                to[f->word] |= r->tables[f->start + (Py_ssize_t)((from[f->word] >> f->shift) & f->mask)];
            }
            hashes[i] = mixed(to, words);
            __builtin_prefetch(&table.slots[hashes[i] >> (64 - table.bits)]);
        }
        for (int i = 0; i < size; i++) {
            const uint64_t *key = fresh + i * words;
            uint64_t last = ((uint64_t)1 << table.bits) - 1;
            uint64_t s = hashes[i] >> (64 - table.bits);
            uint32_t g;
            for (;; s = (s + 1) & last) {
                g = table.slots[s];
                if (!g) break;
                const uint64_t *other = r->out_keys + (size_t)(g - 1) * words;
                int same = 1;
                for (int w = 0; w < words; w++) same &= key[w] == other[w];
                if (same) break;
            }
            if (!g) {
                table.slots[s] = g = ++groups;
                memcpy(r->out_keys + (size_t)(g - 1) * words, key, (size_t)words * 8);
                memset(r->out_counts + (size_t)(g - 1) * columns, 0, (size_t)columns * 4);
                if (groups > last / 2 && grown(&table, r->out_keys, groups, words)) {
                    free(table.slots);
                    return -1;
                }
            }
            uint32_t *sum = r->out_counts + (size_t)(g - 1) * columns;
            if (r->counts) {
                const uint32_t *add = r->counts + (size_t)(start + i) * columns;
                for (int c = 0; c < columns; c++) sum[c] += add[c];
            } else {
                sum[0]++;
            }
            if (r->index) r->index[start + i] = g - 1;
        }
    }
    free(table.slots);
    return groups;
}

static int64_t dispatch(const Roll *r, int words, int columns) {
    if (words == 1 && columns == 1) return rolled(r, 1, 1);
    if (words == 1) return rolled(r, 1, columns);
    return rolled(r, words, columns);
}

static PyObject *roll(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *keys_o, *counts_o, *keep_o, *ops_o, *tables_o, *out_keys_o, *out_counts_o, *index_o;
    Py_ssize_t columns;
    if (!PyArg_ParseTuple(args, "OOnOOOOOO", &keys_o, &counts_o, &columns, &keep_o, &ops_o, &tables_o, &out_keys_o,
                          &out_counts_o, &index_o))
        return NULL;
    Buf keys = {.held = 0}, counts = {.held = 0}, keep = {.held = 0}, ops = {.held = 0}, tables = {.held = 0},
        out_keys = {.held = 0}, out_counts = {.held = 0}, index = {.held = 0};
    PyObject *result = NULL;
    Field *fields = NULL;
    if (take(keys_o, &keys, 8, 0, "keys") || take(keep_o, &keep, 8, 0, "keep") || take(ops_o, &ops, 32, 0, "ops") ||
        take(tables_o, &tables, 8, 0, "tables") || take(out_keys_o, &out_keys, 8, 1, "out_keys") ||
        take(out_counts_o, &out_counts, 4, 1, "out_counts"))
        goto done;
    if (counts_o != Py_None && take(counts_o, &counts, 4, 0, "counts")) goto done;
    if (index_o != Py_None && take(index_o, &index, 4, 1, "index")) goto done;
    Py_ssize_t words = keep.view.len / 8;
    if (words < 1 || words > MOST_WORDS || columns < 1 || columns > INT32_MAX || (keys.view.len / 8) % words) {
        wrong("keys must have from 1 to 64 words each, and counts at least one column");
        goto done;
    }
    Py_ssize_t n = keys.view.len / 8 / words;
    if (n > (Py_ssize_t)UINT32_MAX || out_keys.view.len < keys.view.len || out_counts.view.len / 4 / columns < n ||
        (counts.held && counts.view.len / 4 != n * columns) || (!counts.held && columns != 1) ||
        (index.held && index.view.len / 4 != n)) {
        wrong("buffers must have room for every key, and counts a row for each");
        goto done;
    }
    Py_ssize_t n_ops = ops.view.len / 32;
    fields = malloc((size_t)(n_ops ? n_ops : 1) * sizeof(Field));
    if (!fields) {
        PyErr_NoMemory();
        goto done;
    }
    if (read_fields(&ops, words, tables.view.len / 8, fields)) {
        wrong("ops must be fields of the key with a table each");
        goto done;
    }
    Roll r = {keys.view.buf, keep.view.buf, tables.view.buf, counts.held ? counts.view.buf : NULL, fields, n_ops, n,
              out_keys.view.buf, out_counts.view.buf, index.held ? index.view.buf : NULL};
    int64_t groups;
    Py_BEGIN_ALLOW_THREADS
    groups = dispatch(&r, (int)words, (int)columns);
    Py_END_ALLOW_THREADS
    if (groups < 0) {
        PyErr_NoMemory();
        goto done;
    }
    result = PyLong_FromLongLong(groups);
done:
    free(fields);
    drop(&keys); drop(&counts); drop(&keep); drop(&ops); drop(&tables);
    drop(&out_keys); drop(&out_counts); drop(&index);
    return result;
}

/* ------------------------------------------------------------------ tally
 * Over the groups that are not held: sums[f] += count * table_f[field]. Returns (held groups, held rows, sum of
 * squared sizes of held groups). The first column of the counts is the size of a group. */
static PyObject *tally(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *keys_o, *counts_o, *held_o, *fields_o, *tables_o, *sums_o;
    Py_ssize_t words, columns;
    if (!PyArg_ParseTuple(args, "OnOnOOOO", &keys_o, &words, &counts_o, &columns, &held_o, &fields_o, &tables_o,
                          &sums_o))
        return NULL;
    Buf keys = {.held = 0}, counts = {.held = 0}, held = {.held = 0}, ops = {.held = 0}, tables = {.held = 0},
        sums = {.held = 0};
    PyObject *result = NULL;
    Field *fields = NULL;
    if (take(keys_o, &keys, 8, 0, "keys") || take(counts_o, &counts, 4, 0, "counts") ||
        take(held_o, &held, 1, 0, "held") || take(fields_o, &ops, 32, 0, "fields") ||
        take(tables_o, &tables, 8, 0, "tables") || take(sums_o, &sums, 8, 1, "sums"))
        goto done;
    Py_ssize_t n = held.view.len, n_fields = ops.view.len / 32;
    if (words < 1 || words > MOST_WORDS || columns < 1 || columns > INT32_MAX || keys.view.len / 8 != n * words ||
        counts.view.len / 4 / columns != n || counts.view.len / 4 % columns || sums.view.len / 8 != n_fields) {
        wrong("keys, counts and sums must have a place for each group or field");
        goto done;
    }
    fields = malloc((size_t)(n_fields ? n_fields : 1) * sizeof(Field));
    if (!fields) {
        PyErr_NoMemory();
        goto done;
    }
    if (read_fields(&ops, words, tables.view.len / 8, fields)) {
        wrong("fields must be fields of the key with a table each");
        goto done;
    }
    const uint64_t *key = keys.view.buf;
    const uint32_t *count = counts.view.buf;
    const uint8_t *flag = held.view.buf;
    const double *table = tables.view.buf;
    double *sum = sums.view.buf;
    uint64_t groups = 0, rows = 0;
    double squares = 0;
    Py_BEGIN_ALLOW_THREADS
    memset(sum, 0, (size_t)n_fields * 8);
    for (Py_ssize_t i = 0; i < n; i++, key += words, count += columns) {
        if (flag[i]) {
            groups++;
            rows += *count;
            squares += (double)*count * *count;
        } else {
            for (Py_ssize_t f = 0; f < n_fields; f++)
                sum[f] += *count * table[fields[f].start + (Py_ssize_t)((key[fields[f].word] >> fields[f].shift) & fields[f].mask)];
        }
    }
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("(KKd)", (unsigned long long)groups, (unsigned long long)rows, squares);
done:
    free(fields);
    drop(&keys); drop(&counts); drop(&held); drop(&ops); drop(&tables); drop(&sums);
    return result;
}

/* ------------------------------------------------------------------ draw
 * Row i of class c gets the value whose share of the class's weight holds floor(r * total / 2^62), r the upper 62
 * bits of its word: an exact integer law, the nearest there is to weight / total. Cumulative weights run within a
 * class; class c's cells are first[c] .. first[c+1]. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(x) __builtin_bswap64(x)
#else
#define LITTLE(x) (x)
#endif

static PyObject *draw(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *words_o, *class_o, *first_o, *upto_o, *values_o, *out_o;
    if (!PyArg_ParseTuple(args, "OOOOOO", &words_o, &class_o, &first_o, &upto_o, &values_o, &out_o)) return NULL;
    Buf words = {.held = 0}, class_of = {.held = 0}, first = {.held = 0}, upto = {.held = 0}, values = {.held = 0},
        out = {.held = 0};
    PyObject *result = NULL;
    if (take(words_o, &words, 8, 0, "words") || take(class_o, &class_of, 4, 0, "class_of") ||
        take(first_o, &first, 8, 0, "first") || take(upto_o, &upto, 8, 0, "upto") ||
        take(values_o, &values, 4, 0, "values") || take(out_o, &out, 4, 1, "out"))
        goto done;
    Py_ssize_t n = out.view.len / 4, classes = first.view.len / 8 - 1, cells = values.view.len / 4;
    const int64_t *start = first.view.buf, *sum = upto.view.buf;
    const uint32_t *row = class_of.view.buf, *value = values.view.buf;
    int bad = words.view.len / 8 != n || class_of.view.len / 4 != n || classes < 0 || upto.view.len / 8 != cells;
    if (!bad) bad = start[0] < 0 || start[classes] > cells;
    for (Py_ssize_t c = 0; !bad && c < classes; c++) bad = start[c] >= start[c + 1];
    for (Py_ssize_t i = 0; !bad && i < n; i++) bad = (Py_ssize_t)row[i] >= classes;
    if (bad) {
        wrong("every row must have a word and a class, and every class cells");
        goto done;
    }
    const uint64_t *word = words.view.buf;
    uint32_t *to = out.view.buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t low = start[row[i]], high = start[row[i] + 1] - 1;
        uint64_t r = LITTLE(word[i]) >> 2;
        int64_t place = (int64_t)(((unsigned __int128)r * (uint64_t)sum[high]) >> 62);
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (sum[middle] > place) high = middle;
            else low = middle + 1;
        }
        to[i] = value[low];
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    drop(&words); drop(&class_of); drop(&first); drop(&upto); drop(&values); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"pack", pack, METH_VARARGS, "pack(codes, keys, words, word, shift): write codes into a field of the keys."},
    {"roll", roll, METH_VARARGS,
     "roll(keys, counts, columns, keep, ops, tables, out_keys, out_counts, index): groups of the changed keys."},
    {"tally", tally, METH_VARARGS,
     "tally(keys, words, counts, columns, held, fields, tables, sums): held groups, rows and squares."},
    {"draw", draw, METH_VARARGS,
     "draw(words, class_of, first, upto, values, out): one value for each row from its class's cell."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_classes",
                                        "Hot loops of grouping rows into equivalence classes.", 0, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__classes(void) { return PyModule_Create(&definition); }
