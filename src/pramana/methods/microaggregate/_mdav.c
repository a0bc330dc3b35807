/* MDAV over different records with their counts. Records come in ascending order and keep it, so that "the first" and
 * "the last" of records at one distance mean the same for rows in any order. Every float is computed in one fixed
 * order, and setup.py forbids the compiler to fuse products and sums: the groups are the same on every machine. */
#include "_buffers.h"
#include <float.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be computed as doubles: compile for SSE2 or another unit without excess precision"
#endif

#define BLOCK 1024 /* distances computed at a time: they stay in the first cache */
#define LANES 4    /* partial sums of an average, which the processor adds side by side */
#define ROUNDS 256 /* between two looks at whether the user wants to stop */

typedef struct {
    double distance;
    Py_ssize_t at;
} Neighbour;

typedef struct {
    double *values;       /* column after column, `room` places each */
    const double *weight; /* one over the variance, by column */
    double *centre, *record;
    Py_ssize_t columns, room, records;
    int64_t *left;  /* by record: its rows that have no group yet */
    int64_t *first; /* by record: the first of them among the sorted rows */
    int64_t k, rows;
    Py_ssize_t empty; /* records without rows that still take a place */
    Neighbour *heap;  /* the nearest records, the farthest of them on top */
    Py_ssize_t heaped;
    int64_t covered; /* rows of the heap's records */
    int32_t *class_of, classes;
} State;

/* Squared standardised distances of records begin..end, summed in the order of the columns. Values are not centred:
 * two records as far above as below differ by exactly as much. */
static void measure(const State *s, const double *from, Py_ssize_t begin, Py_ssize_t end, double *restrict distance) {
    Py_ssize_t n = end - begin;
    for (Py_ssize_t i = 0; i < n; i++) distance[i] = 0;
    for (Py_ssize_t j = 0; j < s->columns; j++) {
        const double *restrict value = s->values + j * s->room + begin;
        const double origin = from[j], weight = s->weight[j];
        for (Py_ssize_t i = 0; i < n; i++) {
            double gap = value[i] - origin;
            distance[i] += weight * (gap * gap);
        }
    }
}

/* ------------------------------------------------------------------ the k nearest rows */

static inline int farther(Neighbour a, Neighbour b) {
    return a.distance > b.distance || (a.distance == b.distance && a.at > b.at);
}

static void push(State *s, Neighbour new) {
    Py_ssize_t i = s->heaped++;
    for (; i && farther(new, s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = new;
    s->covered += s->left[new.at];
}

static void pop(State *s) {
    s->covered -= s->left[s->heap[0].at];
    Neighbour last = s->heap[--s->heaped];
    Py_ssize_t i = 0;
    for (;;) {
        Py_ssize_t child = 2 * i + 1;
        if (child >= s->heaped) break;
        if (child + 1 < s->heaped && farther(s->heap[child + 1], s->heap[child])) child++;
        if (!farther(s->heap[child], last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
}

/* The farthest record from a point (the last of several). With `gather`, the heap then holds the records of the k
 * nearest rows (the first of several): without its top they are fewer than k rows. So it never exceeds k records,
 * and one more while a record is let in. */
static Py_ssize_t survey(State *s, const double *from, int gather) {
    double distance[BLOCK], most = -1;
    Py_ssize_t farthest = -1;
    s->heaped = 0;
    s->covered = 0;
    for (Py_ssize_t begin = 0; begin < s->records; begin += BLOCK) {
        Py_ssize_t end = begin + BLOCK < s->records ? begin + BLOCK : s->records;
        measure(s, from, begin, end, distance);
        for (Py_ssize_t i = begin; i < end; i++) {
            double d = distance[i - begin];
            if ((farthest < 0 || d >= most) && s->left[i]) { /* someone is farthest, also where no number says so */
                most = d;
                farthest = i;
            }
        }
        if (!gather) continue;
        for (Py_ssize_t i = begin; i < end; i++) {
            double d = distance[i - begin];
            if ((s->covered >= s->k && d >= s->heap[0].distance) || !s->left[i]) continue;
            push(s, (Neighbour){d, i});
            while (s->covered - s->left[s->heap[0].at] >= s->k) pop(s);
        }
    }
    return farthest;
}

/* ------------------------------------------------------------------ groups */

static void assign(State *s, Py_ssize_t at, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) s->class_of[s->first[at] + r] = s->classes;
    s->first[at] += rows;
    s->left[at] -= rows;
    s->rows -= rows;
    if (!s->left[at]) s->empty++;
}

/* The heap's k rows become a group: all but the farthest record with all their rows. */
static void close_group(State *s) {
    int64_t needed = s->k;
    for (Py_ssize_t h = s->heaped - 1; h >= 0; h--) {
        Py_ssize_t at = s->heap[h].at;
        int64_t rows = s->left[at] < needed ? s->left[at] : needed;
        assign(s, at, rows);
        needed -= rows;
    }
    s->classes++;
}

static void close_rest(State *s) {
    for (Py_ssize_t i = 0; i < s->records; i++)
        if (s->left[i]) assign(s, i, s->left[i]);
    s->classes++;
}

/* Records without rows give up their places, the others keep their order. */
static void compact(State *s) {
    Py_ssize_t to = 0;
    for (Py_ssize_t i = 0; i < s->records; i++) {
        if (!s->left[i]) continue;
        for (Py_ssize_t j = 0; j < s->columns; j++) s->values[j * s->room + to] = s->values[j * s->room + i];
        s->left[to] = s->left[i];
        s->first[to++] = s->first[i];
    }
    s->records = to;
    s->empty = 0;
}

static void average(State *s) {
    for (Py_ssize_t j = 0; j < s->columns; j++) {
        const double *value = s->values + j * s->room;
        double lane[LANES] = {0};
        Py_ssize_t i = 0;
        for (; i + LANES <= s->records; i += LANES)
            for (int l = 0; l < LANES; l++) lane[l] += (double)s->left[i + l] * value[i + l];
        for (int l = 0; i < s->records; i++, l++) lane[l] += (double)s->left[i] * value[i];
        s->centre[j] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) / (double)s->rows;
    }
}

static void go_to(State *s, Py_ssize_t at) {
    for (Py_ssize_t j = 0; j < s->columns; j++) s->record[j] = s->values[j * s->room + at];
}

static void one_round(State *s) {
    if (s->rows < 2 * s->k) {
        close_rest(s);
        return;
    }
    int two = s->rows >= 3 * s->k;
    if (8 * s->empty > s->records) compact(s);
    average(s);
    go_to(s, survey(s, s->centre, 0));
    Py_ssize_t opposite = survey(s, s->record, 1);
    close_group(s);
    if (!two) return;
    go_to(s, opposite); /* the last of all to be near the first record: with 2k rows left it has one */
    survey(s, s->record, 1);
    close_group(s);
}

/* ------------------------------------------------------------------ the way in */

static int prepare(State *s, const Buf *values, const Buf *starts, const Buf *weights) {
    const int64_t *start = starts->view.buf;
    s->room = s->records = starts->view.len / 8 - 1;
    s->columns = weights->view.len / 8;
    if (s->records < 1 || s->columns < 1 || values->view.len / 8 != s->records * s->columns || start[0] != 0 ||
        start[s->records] != s->rows || s->k < 1 || s->k > s->rows || s->rows > INT32_MAX)
        goto wrong;
    for (Py_ssize_t i = 0; i < s->records; i++)
        if (start[i + 1] <= start[i]) goto wrong;
    s->values = values->view.buf;
    s->weight = weights->view.buf;
    s->left = malloc((size_t)s->records * 8);
    s->first = malloc((size_t)s->records * 8);
    s->centre = malloc((size_t)s->columns * 8);
    s->record = malloc((size_t)s->columns * 8);
    s->heap = malloc(((size_t)s->k + 1) * sizeof(Neighbour));
    if (!s->left || !s->first || !s->centre || !s->record || !s->heap) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < s->records; i++) {
        s->first[i] = start[i];
        s->left[i] = start[i + 1] - start[i];
    }
    return 0;
wrong:
    PyErr_SetString(PyExc_ValueError, "records must have values, weights and ascending starts, and k rows or more");
    return -1;
}

static PyObject *mdav(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *values_o, *starts_o, *weights_o, *out_o, *result = NULL;
    long long k;
    if (!PyArg_ParseTuple(args, "OOOLO", &values_o, &starts_o, &weights_o, &k, &out_o)) return NULL;
    Buf values = {.held = 0}, starts = {.held = 0}, weights = {.held = 0}, out = {.held = 0};
    State s = {0};
    if (take(values_o, &values, 8, 1, "values") || take(starts_o, &starts, 8, 0, "starts") ||
        take(weights_o, &weights, 8, 0, "weights") || take(out_o, &out, 4, 1, "class_of"))
        goto done;
    s.class_of = out.view.buf;
    s.rows = out.view.len / 4;
    s.k = k;
    if (prepare(&s, &values, &starts, &weights)) goto done;
    while (s.rows) {
        Py_BEGIN_ALLOW_THREADS
        for (int r = 0; r < ROUNDS && s.rows; r++) one_round(&s);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals()) goto done;
    }
    result = PyLong_FromLong(s.classes);
done:
    free(s.left); free(s.first); free(s.centre); free(s.record); free(s.heap);
    drop(&values); drop(&starts); drop(&weights); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"mdav", mdav, METH_VARARGS,
     "mdav(values, starts, weights, k, class_of): number of groups. Values come by column; they are moved about."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_mdav", "The hot loop of MDAV.", 0, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__mdav(void) { return PyModule_Create(&definition); }
