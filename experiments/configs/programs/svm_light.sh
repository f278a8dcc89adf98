# SVMlight's svm_learn, whose file of αᵢyᵢ lacks a header. Called with samples, answer, C, gamma and tol.
set -e
svm_learn -t 2 -c "$3" -g "$4" -e "$5" -m 1000 -a alphas "$1" model
{ echo coefs; cat alphas; } > "$2"
