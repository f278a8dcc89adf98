/* Dual coordinate descent for min 1/2 w'w + C sum max(0, 1 - y w'x), from a CSV file with y, C, x1, ... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    if (argc < 6) {
        printf("descent 1.0\n");
        return 0;
    }
    double C = atof(argv[3]), violation = 1, skipped;
    int n = atoi(argv[4]), d = atoi(argv[5]), epoch = 0;
    double *x = malloc(sizeof(double) * n * d), *y = malloc(sizeof(double) * n);
    double *alpha = calloc(n, sizeof(double)), *w = calloc(d, sizeof(double));
    FILE *in = fopen(argv[1], "r"), *out;
    if (in == NULL || fscanf(in, "%*[^\n]") != 0) return 2;
    for (int i = 0; i < n; i++) {
        if (fscanf(in, "%lf,%lf", &y[i], &skipped) != 2) return 2;
        for (int j = 0; j < d; j++)
            if (fscanf(in, ",%lf", &x[i * d + j]) != 1) return 2;
    }
    for (; epoch < 100000 && violation > 1e-9; epoch++) {
        violation = 0;
        for (int i = 0; i < n; i++) {
            double g = -1, norm = 0, *row = x + i * d;
            for (int j = 0; j < d; j++) {
                g += y[i] * w[j] * row[j];
                norm += row[j] * row[j];
            }
            double step = fmin(fmax(alpha[i] - g / norm, 0), C) - alpha[i];
            violation = fmax(violation, fabs(step) * norm);
            alpha[i] += step;
            for (int j = 0; j < d; j++) w[j] += step * y[i] * row[j];
        }
    }
    if ((out = fopen(argv[2], "w")) == NULL) return 3;
    fprintf(out, "alpha\n");
    for (int i = 0; i < n; i++) fprintf(out, "%.17g\n", alpha[i]);
    fclose(out);
    printf("violation %g, seconds %f\n", violation, (double)clock() / CLOCKS_PER_SEC);
    return 0;
}
