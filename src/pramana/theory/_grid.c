/* The hot loops of the bound for shuffled releases: mass on a grid of two ratios, moved and split, and the law's
   transform on a grid of points. */
#include "_buffers.h"

typedef struct {
    Py_ssize_t at; /* the node to the left */
    double share;  /* that goes to the one on the right */
} Split;

/* The node to the left of a value by halving, and the share of the one on the right, from 0 to 1. */
static Split between(const double *nodes, Py_ssize_t n, double value) {
    Py_ssize_t low = 0, high = n - 1;
    while (high - low > 1) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (nodes[middle] <= value) low = middle;
        else high = middle;
    }
    double share = (value - nodes[low]) / (nodes[low + 1] - nodes[low]);
    return (Split){low, share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share};
}

static void all_between(const double *nodes, const double *values, Py_ssize_t n, double times, Split *splits) {
    for (Py_ssize_t i = 0; i < n; i++) splits[i] = between(nodes, n, times * values[i]);
}

static void split_line(const double *line, Py_ssize_t size, const Split *right, double low, double high, double *below,
                       double *above) {
    for (Py_ssize_t s = 0; s < size; s++) {
        if (line[s] == 0.0) continue;
        Py_ssize_t at = right[s].at;
        double up = right[s].share * line[s], down = line[s] - up;
        below[at] += low * down;
        below[at + 1] += low * up;
        above[at] += high * down;
        above[at + 1] += high * up;
    }
}

static int take_all(PyObject **objects, Buf *bufs, int count, const char *const *names) {
    for (int i = 0; i < count; i++) bufs[i].held = 0;
    for (int i = 0; i < count; i++)
        if (take(objects[i], &bufs[i], 8, i == count - 1, names[i])) return -1;
    return 0;
}

static Py_ssize_t length(const Buf *buf) { return buf->view.len / 8; }

static int at_least_two(Py_ssize_t n) {
    if (n >= 2) return 0;
    PyErr_SetString(PyExc_ValueError, "nodes must be at least 2");
    return -1;
}

/* out: the mass of a grid times one attribute's law, on new nodes; each class of it moves the whole grid. */
static PyObject *times(PyObject *self, PyObject *args) {
    (void)self;
    static const char *const names[] = {"mass",        "first nodes",     "second nodes",     "first",
                                        "second",      "chances",         "new first nodes",  "new second nodes",
                                        "out"};
    PyObject *o[9], *result = NULL;
    Buf b[9];
    Split *across = NULL;
    if (!PyArg_ParseTuple(args, "OOOOOOOOO", o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7, o + 8)) return NULL;
    if (take_all(o, b, 9, names)) goto done;
    Py_ssize_t n = length(b + 1), m = length(b + 2), classes = length(b + 3);
    if (at_least_two(n) || at_least_two(m) || same_length(n * m, length(b), names[0]) ||
        same_length(classes, length(b + 4), names[4]) || same_length(classes, length(b + 5), names[5]) ||
        same_length(n, length(b + 6), names[6]) || same_length(m, length(b + 7), names[7]) ||
        same_length(n * m, length(b + 8), names[8]))
        goto done;
    across = PyMem_Malloc((size_t)(n + m) * sizeof(Split));
    if (!across) {
        PyErr_NoMemory();
        goto done;
    }
    Split *down = across + n;
    const double *mass = b[0].view.buf, *first = b[3].view.buf, *second = b[4].view.buf, *chance = b[5].view.buf;
    double *out = b[8].view.buf;
    for (Py_ssize_t c = 0; c < classes; c++) {
        all_between(b[6].view.buf, b[1].view.buf, n, first[c], across);
        all_between(b[7].view.buf, b[2].view.buf, m, second[c], down);
        for (Py_ssize_t r = 0; r < n; r++) {
            double share = across[r].share, *to = out + across[r].at * m;
            split_line(mass + r * m, m, down, chance[c] * (1 - share), chance[c] * share, to, to + m);
        }
    }
    result = Py_NewRef(Py_None);
done:
    PyMem_Free(across);
    for (int i = 0; i < 9; i++) drop(b + i);
    return result;
}

/* out: the mass of each class split between the four nodes around its two ratios. */
static PyObject *split(PyObject *self, PyObject *args) {
    (void)self;
    static const char *const names[] = {"first", "second", "mass", "first nodes", "second nodes", "out"};
    PyObject *o[6], *result = NULL;
    Buf b[6];
    if (!PyArg_ParseTuple(args, "OOOOOO", o, o + 1, o + 2, o + 3, o + 4, o + 5)) return NULL;
    if (take_all(o, b, 6, names)) goto done;
    Py_ssize_t classes = length(b), n = length(b + 3), m = length(b + 4);
    if (at_least_two(n) || at_least_two(m) || same_length(classes, length(b + 1), names[1]) ||
        same_length(classes, length(b + 2), names[2]) || same_length(n * m, length(b + 5), names[5]))
        goto done;
    const double *first = b[0].view.buf, *second = b[1].view.buf, *mass = b[2].view.buf;
    double *out = b[5].view.buf;
    for (Py_ssize_t c = 0; c < classes; c++) {
        Split one = between(b[3].view.buf, n, first[c]), other = between(b[4].view.buf, m, second[c]);
        double *to = out + one.at * m;
        split_line(mass + c, 1, &other, 1 - one.share, one.share, to, to + m);
    }
    result = Py_NewRef(Py_None);
done:
    for (int i = 0; i < 6; i++) drop(b + i);
    return result;
}

enum { AT_ONCE = 64 }; /* columns whose real and imaginary parts are summed apart */

/* out[r, c] = sum over v of left[v, r] * right[v, c], complex; v in order, so that the float is the same everywhere */
static void summed(const double *left, const double *right, Py_ssize_t values, Py_ssize_t rows, Py_ssize_t columns,
                   double *sums) {
    double real[AT_ONCE], imaginary[AT_ONCE];
    for (Py_ssize_t v = 0; v < values; v++)
        for (Py_ssize_t start = 0; start < columns; start += AT_ONCE) {
            Py_ssize_t some = columns - start < AT_ONCE ? columns - start : AT_ONCE;
            const double *from = right + 2 * (v * columns + start);
            for (Py_ssize_t c = 0; c < some; c++) real[c] = from[2 * c], imaginary[c] = from[2 * c + 1];
            for (Py_ssize_t r = 0; r < rows; r++) {
                double a = left[2 * (v * rows + r)], b = left[2 * (v * rows + r) + 1];
                double *up = sums + 2 * r * columns + start, *across = up + columns;
                for (Py_ssize_t c = 0; c < some; c++) up[c] += a * real[c] - b * imaginary[c];
                for (Py_ssize_t c = 0; c < some; c++) across[c] += a * imaginary[c] + b * real[c];
            }
        }
}

static PyObject *sum_of_products(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *left_o, *right_o, *out_o, *result = NULL;
    Py_ssize_t values;
    if (!PyArg_ParseTuple(args, "OOnO", &left_o, &right_o, &values, &out_o)) return NULL;
    Buf left = {.held = 0}, right = {.held = 0}, out = {.held = 0};
    double *sums = NULL;
    if (take(left_o, &left, 16, 0, "left") || take(right_o, &right, 16, 0, "right") || take(out_o, &out, 16, 1, "out"))
        goto done;
    if (values < 1 || left.view.len / 16 % values || right.view.len / 16 % values) {
        PyErr_SetString(PyExc_ValueError, "left and right must have a line of entries for each value");
        goto done;
    }
    Py_ssize_t rows = left.view.len / 16 / values, columns = right.view.len / 16 / values, n = rows * columns;
    if (same_length(n, out.view.len / 16, "out")) goto done;
    sums = PyMem_Calloc((size_t)(2 * n) + 1, sizeof(double));
    if (!sums) {
        PyErr_NoMemory();
        goto done;
    }
    summed(left.view.buf, right.view.buf, values, rows, columns, sums);
    double *to = out.view.buf;
    for (Py_ssize_t r = 0; r < rows; r++)
        for (Py_ssize_t c = 0; c < columns; c++) {
            to[2 * (r * columns + c)] = sums[2 * r * columns + c];
            to[2 * (r * columns + c) + 1] = sums[(2 * r + 1) * columns + c];
        }
    result = Py_NewRef(Py_None);
done:
    PyMem_Free(sums);
    drop(&left); drop(&right); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"split", split, METH_VARARGS,
     "split(first, second, mass, first_nodes, second_nodes, out): each class added to the four nodes around it."},
    {"times", times, METH_VARARGS,
     "times(mass, first_nodes, second_nodes, first, second, chances, new_first_nodes, new_second_nodes, out): "
     "a grid with one attribute more, added to out."},
    {"sum_of_products", sum_of_products, METH_VARARGS,
     "sum_of_products(left, right, values, out): out[r, c] = sum of left[v, r] * right[v, c], complex."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_grid", "Hot loops of the bound for shuffled releases.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__grid(void) { return PyModule_Create(&definition); }
