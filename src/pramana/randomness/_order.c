/* Rows in keyed order: sorting tags, gathering rows, counting values. As in _kernels.c every function is a pure
 * function of its buffers and releases the interpreter lock, so threads can share the work.
 *
 * Tags are 128 bits (two words each, the first more significant): cipher blocks of distinct counters, hence
 * distinct and uniform. They are never all held: an entry is one word, the 32 bits that follow the bucket's
 * upper bits of the tag, and the row's number. Entries that tie in those are reported for their full tags to
 * be compared. */
#include "_buffers.h"

/* x >> (64 - bits), also for no bits: shifting a 64-bit word by 64 is undefined */
#define TOP(x, bits) ((x) >> (63 - (bits)) >> 1)
#define MOST_BITS 20

static int bucket_bits(Py_ssize_t buckets) {
    for (int bits = 0; bits <= MOST_BITS; bits++)
        if ((Py_ssize_t)1 << bits == buckets) return bits;
    PyErr_SetString(PyExc_ValueError, "the number of buckets must be a power of two up to 2^20");
    return -1;
}

static PyObject *count_tags(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *tags_o, *counts_o;
    if (!PyArg_ParseTuple(args, "OO", &tags_o, &counts_o)) return NULL;
    Buf tags = {.held = 0}, counts = {.held = 0};
    PyObject *result = NULL;
    if (take(tags_o, &tags, 16, 0, "tags") || take(counts_o, &counts, 8, 1, "counts")) goto done;
    int bits = bucket_bits(counts.view.len / 8);
    if (bits < 0) goto done;
    const uint64_t *from = tags.view.buf;
    uint64_t *count = counts.view.buf;
    Py_ssize_t n = tags.view.len / 16;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) count[TOP(LITTLE(from[2 * i]), bits)]++;
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    drop(&tags); drop(&counts);
    return result;
}

static PyObject *place_tags(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *tags_o, *places_o, *entries_o;
    unsigned int first;
    if (!PyArg_ParseTuple(args, "OIOO", &tags_o, &first, &places_o, &entries_o)) return NULL;
    Buf tags = {.held = 0}, places = {.held = 0}, entries = {.held = 0};
    PyObject *result = NULL;
    if (take(tags_o, &tags, 16, 0, "tags") || take(places_o, &places, 8, 1, "places") ||
        take(entries_o, &entries, 8, 1, "entries"))
        goto done;
    int bits = bucket_bits(places.view.len / 8), wrong = 0;
    if (bits < 0) goto done;
    const uint64_t *from = tags.view.buf;
    uint64_t *place = places.view.buf, *to = entries.view.buf, most = (uint64_t)(entries.view.len / 8);
    Py_ssize_t n = tags.view.len / 16;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t tag = LITTLE(from[2 * i]), at = place[TOP(tag, bits)]++;
        if (at >= most) {
            wrong = 1;
            break;
        }
        to[at] = (tag << bits >> 32 << 32) | (uint32_t)(first + i);
    }
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "places must lie within entries");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&tags); drop(&places); drop(&entries);
    return result;
}

/* Entries by some bits of theirs: those that follow the first `skip`, in which all of them are alike. */
static void by_bits(const uint64_t *from, uint64_t m, int skip, int bits, uint64_t *count, uint64_t *to) {
    uint64_t cells = (uint64_t)1 << bits;
    memset(count, 0, (cells + 1) * sizeof(uint64_t));
    for (uint64_t i = 0; i < m; i++) count[TOP(from[i] << skip, bits) + 1]++;
    for (uint64_t c = 0; c < cells; c++) count[c + 1] += count[c];
    for (uint64_t i = 0; i < m; i++) to[count[TOP(from[i] << skip, bits)]++] = from[i];
}

/* One bucket: counting by the next `rest` bits leaves about one entry to a cell, insertion does the rest. A large
 * bucket is first counted by half of the bits, so that each part fits a near cache. */
static void sort_bucket(uint64_t *entries, uint64_t m, int rest, uint64_t *inside, uint64_t *count) {
    int upper = rest > 13 ? rest / 2 : 0;
    uint64_t parts = (uint64_t)1 << upper, *inner = count + parts + 1;
    if (upper) {
        by_bits(entries, m, 0, upper, count, inside); /* count[p] is now where part p ends */
    } else {
        memcpy(inside, entries, m * sizeof(uint64_t));
        count[0] = m;
    }
    for (uint64_t p = 0, at = 0; p < parts; at = count[p++])
        by_bits(inside + at, count[p] - at, upper, rest - upper, inner, entries + at);
    for (uint64_t i = 1; i < m; i++) { /* cells stand in order, so insertion only moves within one */
        uint64_t e = entries[i], j = i;
        while (j > 0 && entries[j - 1] > e) {
            entries[j] = entries[j - 1];
            j--;
        }
        entries[j] = e;
    }
}

static PyObject *sort_buckets(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *entries_o, *starts_o, *order_o;
    Py_ssize_t from, to;
    int rest;
    if (!PyArg_ParseTuple(args, "OOnniO", &entries_o, &starts_o, &from, &to, &rest, &order_o)) return NULL;
    Buf entries = {.held = 0}, starts = {.held = 0}, order = {.held = 0};
    PyObject *result = NULL;
    uint64_t *inside = NULL, *count = NULL, largest = 1;
    if (take(entries_o, &entries, 8, 1, "entries") || take(starts_o, &starts, 8, 0, "starts") ||
        take(order_o, &order, 4, 1, "order"))
        goto done;
    Py_ssize_t n = entries.view.len / 8;
    if (same_length(n, order.view.len / 4, "order")) goto done;
    const uint64_t *start = starts.view.buf;
    int wrong = rest < 0 || rest > MOST_BITS || from < 0 || from > to || to >= starts.view.len / 8;
    for (Py_ssize_t b = from; !wrong && b < to; b++) {
        wrong = start[b] > start[b + 1] || start[b + 1] > (uint64_t)n;
        if (!wrong && start[b + 1] - start[b] > largest) largest = start[b + 1] - start[b];
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "buckets must stand in order within entries");
        goto done;
    }
    inside = malloc(largest * sizeof(uint64_t));
    count = malloc((((size_t)1 << rest) + 4) * sizeof(uint64_t)); /* of both halves, with a border each */
    result = PyList_New(0);
    if (!inside || !count || !result) {
        if (result) PyErr_NoMemory();
        Py_CLEAR(result);
        goto done;
    }
    uint64_t *all = entries.view.buf;
    uint32_t *rows = order.view.buf;
    uint64_t ties = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t b = from; b < to; b++) {
        sort_bucket(all + start[b], start[b + 1] - start[b], rest, inside, count);
        for (uint64_t i = start[b]; i < start[b + 1]; i++) {
            rows[i] = (uint32_t)all[i];
            ties += i > start[b] && all[i - 1] >> 32 == all[i] >> 32;
        }
    }
    Py_END_ALLOW_THREADS
    for (Py_ssize_t b = from; ties && b < to; b++)
        for (uint64_t i = start[b] + 1; ties && i < start[b + 1]; i++) {
            if (all[i - 1] >> 32 != all[i] >> 32) continue;
            PyObject *place = PyLong_FromUnsignedLongLong(i);
            int failed = !place || PyList_Append(result, place) < 0;
            Py_XDECREF(place);
            if (failed) {
                Py_CLEAR(result);
                goto done;
            }
            ties--;
        }
done:
    free(inside); free(count);
    drop(&entries); drop(&starts); drop(&order);
    return result;
}

/* ------------------------------------------------------------------ out[i] = values[order[i]] */
#define GATHER(T)                                                                                     \
    static int gather_##T(const T *values, Py_ssize_t m, const uint32_t *order, T *out, Py_ssize_t n) { \
        uint64_t wrong = 0;                                                                           \
        for (Py_ssize_t i = 0; i < n; i++) {                                                          \
            uint32_t from = order[i];                                                                 \
            wrong |= (Py_ssize_t)from >= m;                                                           \
            out[i] = values[(Py_ssize_t)from < m ? from : 0];                                         \
        }                                                                                             \
        return wrong != 0;                                                                            \
    }
GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)

static PyObject *gather(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *values_o, *order_o, *out_o;
    if (!PyArg_ParseTuple(args, "OOO", &values_o, &order_o, &out_o)) return NULL;
    Buf values = {.held = 0}, order = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(values_o, &values, 0, 0, "values") || take(order_o, &order, 4, 0, "order") ||
        take(out_o, &out, 0, 1, "out"))
        goto done;
    int width = code_width(&values, &out);
    if (!width) goto done;
    Py_ssize_t n = out.view.len / width, m = values.view.len / width;
    if (same_length(n, order.view.len / 4, "order")) goto done;
    int wrong = n > 0 && m == 0;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
#define CALL(T_) wrong = gather_##T_(values.view.buf, m, order.view.buf, (T *)out.view.buf, n)
        BY_WIDTH(width, CALL)
#undef CALL
        Py_END_ALLOW_THREADS
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "order must hold row numbers of values");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&values); drop(&order); drop(&out);
    return result;
}

/* ------------------------------------------------------------------ counts[codes[i]]++ */
static int tally_uint8_t(const uint8_t *codes, Py_ssize_t n, uint64_t *counts, uint64_t size) {
    uint64_t part[4][256] = {{0}}; /* four, so that a run of one value does not wait for its own last count */
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int p = 0; p < 4; p++) part[p][codes[i + p]]++;
    for (; i < n; i++) part[0][codes[i]]++;
    uint64_t wrong = 0;
    for (uint64_t v = 0; v < 256; v++) {
        uint64_t found = part[0][v] + part[1][v] + part[2][v] + part[3][v];
        if (v < size) counts[v] += found;
        else wrong |= found;
    }
    return wrong != 0;
}

#define TALLY(T)                                                                             \
    static int tally_##T(const T *codes, Py_ssize_t n, uint64_t *counts, uint64_t size) {    \
        for (Py_ssize_t i = 0; i < n; i++) {                                                 \
            if (codes[i] >= size) return 1;                                                  \
            counts[codes[i]]++;                                                              \
        }                                                                                    \
        return 0;                                                                            \
    }
TALLY(uint16_t)
TALLY(uint32_t)

static PyObject *tally(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *codes_o, *counts_o;
    if (!PyArg_ParseTuple(args, "OO", &codes_o, &counts_o)) return NULL;
    Buf codes = {.held = 0}, counts = {.held = 0};
    PyObject *result = NULL;
    if (take(codes_o, &codes, 0, 0, "codes") || take(counts_o, &counts, 8, 1, "counts")) goto done;
    int width = code_width(&codes, &codes), wrong = 0;
    if (!width) goto done;
    Py_ssize_t n = codes.view.len / width;
    uint64_t size = (uint64_t)(counts.view.len / 8);
    Py_BEGIN_ALLOW_THREADS
#define CALL(T_) wrong = tally_##T_((const T *)codes.view.buf, n, counts.view.buf, size)
    BY_WIDTH(width, CALL)
#undef CALL
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "codes must lie below the number of counts");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&codes); drop(&counts);
    return result;
}

/* ------------------------------------------------------------------ whole rows at once
 * Codes of up to eight bytes a row, side by side in one word: a row that lies far away is then fetched once and not
 * once for every column. A lane is one byte of a column's codes: of the first, second, ... row every `step` bytes. */
#define LANES 8
#define SOON 32 /* rows between asking for a far one and using it */

typedef struct {
    Buf columns[LANES];
    uint8_t *lane[LANES];
    Py_ssize_t step[LANES];
    int held, lanes;
} Lanes;

static int take_lanes(PyObject *list, Lanes *of, Py_ssize_t rows, int writable) {
    Py_ssize_t columns = PySequence_Size(list);
    of->held = of->lanes = 0;
    if (columns < 0) return -1;
    for (Py_ssize_t c = 0; c < columns; c++) {
        if (c == LANES) goto wide;
        PyObject *column = PySequence_GetItem(list, c);
        if (!column) return -1;
        Buf *own = &of->columns[c];
        int failed = take(column, own, 0, writable, "columns");
        Py_DECREF(column);
        of->held += own->held;
        if (failed) return -1;
        int width = code_width(own, own);
        if (!width || same_length(rows, own->view.len / width, "columns")) return -1;
        if (of->lanes + width > LANES) goto wide;
        for (int byte = 0; byte < width; byte++, of->lanes++) {
            of->lane[of->lanes] = (uint8_t *)own->view.buf + byte;
            of->step[of->lanes] = width;
        }
    }
    return 0;
wide:
    PyErr_SetString(PyExc_ValueError, "the codes of a row must have at most 8 bytes");
    return -1;
}

static void drop_lanes(Lanes *of) {
    for (int c = 0; c < of->held; c++) drop(&of->columns[c]);
}

static PyObject *pack_rows(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *columns_o, *rows_o;
    if (!PyArg_ParseTuple(args, "OO", &columns_o, &rows_o)) return NULL;
    Buf rows = {.held = 0};
    Lanes from = {.held = 0};
    PyObject *result = NULL;
    if (take(rows_o, &rows, LANES, 1, "rows") || take_lanes(columns_o, &from, rows.view.len / LANES, 0)) goto done;
    Py_ssize_t n = rows.view.len / LANES;
    uint8_t *to = rows.view.buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t first = 0; first < n; first += 1024) { /* a piece that stays in the near cache, lane by lane */
        Py_ssize_t stop = first + 1024 < n ? first + 1024 : n;
        for (int l = 0; l < LANES; l++)
            for (Py_ssize_t i = first; i < stop; i++)
                to[i * LANES + l] = l < from.lanes ? from.lane[l][i * from.step[l]] : 0;
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    drop(&rows); drop_lanes(&from);
    return result;
}

static PyObject *gather_rows(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *rows_o, *order_o, *columns_o;
    if (!PyArg_ParseTuple(args, "OOO", &rows_o, &order_o, &columns_o)) return NULL;
    Buf rows = {.held = 0}, order = {.held = 0};
    Lanes to = {.held = 0};
    PyObject *result = NULL;
    int wrong = 0;
    if (take(rows_o, &rows, LANES, 0, "rows") || take(order_o, &order, 4, 0, "order") ||
        take_lanes(columns_o, &to, order.view.len / 4, 1))
        goto done;
    Py_ssize_t n = order.view.len / 4;
    uint64_t m = (uint64_t)(rows.view.len / LANES);
    const uint32_t *at = order.view.buf;
    const uint8_t *from = rows.view.buf;
    Py_BEGIN_ALLOW_THREADS
    uint8_t near[256 * LANES];
    for (Py_ssize_t first = 0; first < n && !wrong; first += 256) {
        Py_ssize_t stop = first + 256 < n ? first + 256 : n;
        for (Py_ssize_t i = first; i < stop; i++) {
            if (i + SOON < n && at[i + SOON] < m) __builtin_prefetch(from + (uint64_t)at[i + SOON] * LANES);
            wrong |= at[i] >= m;
            uint64_t row = at[i] < m ? at[i] : 0;
            if (m) memcpy(near + (i - first) * LANES, from + row * LANES, LANES);
        }
        for (int l = 0; l < to.lanes && !wrong; l++)
            for (Py_ssize_t i = first; i < stop; i++) to.lane[l][i * to.step[l]] = near[(i - first) * LANES + l];
    }
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "order must hold row numbers of rows");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&rows); drop(&order); drop_lanes(&to);
    return result;
}

/* ------------------------------------------------------------------ out[i] = table[codes[i]] */
#define TRANSLATE(F, T)                                                                                       \
    static int translate_##F##_##T(const F *codes, Py_ssize_t n, const T *table, uint64_t size, T *out) {     \
        uint64_t wrong = 0;                                                                                   \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                  \
            wrong |= codes[i] >= size;                                                                        \
            out[i] = table[codes[i] < size ? codes[i] : 0];                                                   \
        }                                                                                                     \
        return wrong != 0;                                                                                    \
    }
#define TRANSLATE_TO(T) TRANSLATE(uint8_t, T) TRANSLATE(uint16_t, T) TRANSLATE(uint32_t, T)
TRANSLATE_TO(uint8_t)
TRANSLATE_TO(uint16_t)
TRANSLATE_TO(uint32_t)

static PyObject *translate(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *codes_o, *table_o, *out_o;
    if (!PyArg_ParseTuple(args, "OOO", &codes_o, &table_o, &out_o)) return NULL;
    Buf codes = {.held = 0}, table = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(codes_o, &codes, 0, 0, "codes") || take(table_o, &table, 0, 0, "table") ||
        take(out_o, &out, 0, 1, "out"))
        goto done;
    int from = code_width(&codes, &codes), to = code_width(&table, &out);
    if (!from || !to) goto done;
    Py_ssize_t n = codes.view.len / from;
    if (same_length(n, out.view.len / to, "out")) goto done;
    uint64_t size = (uint64_t)(table.view.len / to);
    int wrong = n > 0 && size == 0;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
#define ONE_OF(F_, T_) \
    wrong = translate_##F_##_##T_((const F_ *)codes.view.buf, n, (const T_ *)table.view.buf, size, out.view.buf)
        switch (from * 8 + to) {
            case 9: ONE_OF(uint8_t, uint8_t); break;
            case 10: ONE_OF(uint8_t, uint16_t); break;
            case 12: ONE_OF(uint8_t, uint32_t); break;
            case 17: ONE_OF(uint16_t, uint8_t); break;
            case 18: ONE_OF(uint16_t, uint16_t); break;
            case 20: ONE_OF(uint16_t, uint32_t); break;
            case 33: ONE_OF(uint32_t, uint8_t); break;
            case 34: ONE_OF(uint32_t, uint16_t); break;
            case 36: ONE_OF(uint32_t, uint32_t); break;
        }
#undef ONE_OF
        Py_END_ALLOW_THREADS
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "codes must lie below the length of the table");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&codes); drop(&table); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"count_tags", count_tags, METH_VARARGS, "count_tags(tags, counts): add the tags of each bucket to its count."},
    {"place_tags", place_tags, METH_VARARGS, "place_tags(tags, first, places, entries): put rows into buckets."},
    {"sort_buckets", sort_buckets, METH_VARARGS,
     "sort_buckets(entries, starts, from, to, rest, order): order rows bucket by bucket; where entries tie."},
    {"gather", gather, METH_VARARGS, "gather(values, order, out): out[i] = values[order[i]]."},
    {"pack_rows", pack_rows, METH_VARARGS, "pack_rows(columns, rows): the codes of a row side by side in 8 bytes."},
    {"gather_rows", gather_rows, METH_VARARGS,
     "gather_rows(rows, order, columns): columns of the rows that `pack_rows` made, in an order."},
    {"translate", translate, METH_VARARGS, "translate(codes, table, out): out[i] = table[codes[i]]."},
    {"tally", tally, METH_VARARGS, "tally(codes, counts): add how often each code occurs."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_order", "Hot loops of the keyed shuffle.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__order(void) { return PyModule_Create(&definition); }
