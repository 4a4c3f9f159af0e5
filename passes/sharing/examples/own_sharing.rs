//! Sharing recovery for a language of your own: terms that host code builds, with identity, printed as a program with `let`.
//!
//! `cargo run -p fusebox-sharing --example own_sharing`

use std::{collections::HashMap, rc::Rc};

use fusebox_ir::term::TermGraph;
use fusebox_sharing::{BindingPoints, GraphError, binding_points};

/// A term of the host. Two `Rc` of one allocation are one term.
enum Term {
    Input(&'static str),
    Call(&'static str, Vec<Rc<Term>>),
    /// A function of one parameter, which is a `Parameter` term.
    Function(Rc<Term>, Rc<Term>),
    Parameter,
}

/// The terms below a root, each with a number.
struct Graph {
    terms: Vec<Rc<Term>>,
    numbers: HashMap<*const Term, usize>,
}

impl Graph {
    /// Numbers every term that the root reaches. The list of terms is the worklist, so that nothing recurses.
    fn new(root: &Rc<Term>) -> Self {
        let mut graph = Self { terms: Vec::new(), numbers: HashMap::new() };
        graph.number(root);
        let mut next = 0;
        while next < graph.terms.len() {
            match &*graph.terms[next].clone() {
                Term::Call(_, arguments) => arguments.iter().for_each(|argument| graph.number(argument)),
                Term::Function(parameter, body) => [parameter, body].into_iter().for_each(|term| graph.number(term)),
                Term::Input(_) | Term::Parameter => {}
            }
            next += 1;
        }
        graph
    }

    fn number(&mut self, term: &Rc<Term>) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.numbers.entry(Rc::as_ptr(term)) {
            entry.insert(self.terms.len());
            self.terms.push(term.clone());
        }
    }

    fn of(&self, term: &Rc<Term>) -> usize {
        self.numbers[&Rc::as_ptr(term)]
    }
}

impl TermGraph for Graph {
    fn len(&self) -> usize {
        self.terms.len()
    }

    fn root(&self) -> usize {
        0
    }

    fn children(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        match &*self.terms[node] {
            Term::Call(_, arguments) => arguments.iter().for_each(|argument| visit(self.of(argument))),
            Term::Function(_, body) => visit(self.of(body)),
            Term::Input(_) | Term::Parameter => {}
        }
    }

    fn binds(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        if let Term::Function(parameter, _) = &*self.terms[node] {
            visit(self.of(parameter));
        }
    }

    fn is_variable(&self, node: usize) -> bool {
        matches!(*self.terms[node], Term::Parameter)
    }

    // An input is not a variable, as nothing in the graph binds it. It is trivial: a name for a name gains nothing.
    fn is_trivial(&self, node: usize) -> bool {
        matches!(*self.terms[node], Term::Input(_))
    }
}

/// The term as text: shared terms are named where they are bound.
fn print(root: &Rc<Term>) -> Result<String, GraphError> {
    let graph = Graph::new(root);
    let points = binding_points(&graph)?;
    Ok(with_lets(&graph, &points, 0, &|| used(&graph, &points, 0)))
}

/// What is bound at `node`, then `rest`.
fn with_lets(graph: &Graph, points: &BindingPoints, node: usize, rest: &dyn Fn() -> String) -> String {
    let lets = points.at(node).iter().map(|&bound| format!("let t{bound} = {}; ", whole(graph, points, bound)));
    lets.collect::<String>() + &rest()
}

/// A term where it is used.
fn used(graph: &Graph, points: &BindingPoints, node: usize) -> String {
    if points.is_shared(node) { format!("t{node}") } else { whole(graph, points, node) }
}

/// A term written out. What is bound at a function stands inside of it, what is bound at a call before the whole term.
fn whole(graph: &Graph, points: &BindingPoints, node: usize) -> String {
    match &*graph.terms[node] {
        Term::Input(name) => (*name).to_owned(),
        Term::Parameter => format!("p{node}"),
        Term::Call(name, arguments) => {
            let arguments: Vec<_> = arguments.iter().map(|term| used(graph, points, graph.of(term))).collect();
            let call = format!("{name}({})", arguments.join(", "));
            if node == 0 || points.at(node).is_empty() {
                call
            } else {
                format!("{{ {} }}", with_lets(graph, points, node, &|| call.clone()))
            }
        }
        Term::Function(parameter, body) => {
            let body = || used(graph, points, graph.of(body));
            format!("|p{}| {{ {} }}", graph.of(parameter), with_lets(graph, points, node, &body))
        }
    }
}

fn call(name: &'static str, arguments: &[&Rc<Term>]) -> Rc<Term> {
    Rc::new(Term::Call(name, arguments.iter().map(|&term| term.clone()).collect()))
}

fn function(body: impl FnOnce(&Rc<Term>) -> Rc<Term>) -> Rc<Term> {
    let parameter = Rc::new(Term::Parameter);
    let body = body(&parameter);
    Rc::new(Term::Function(parameter, body))
}

/// What host code builds: `scale` is used in two functions, `square` twice in one of them.
fn example() -> Rc<Term> {
    let xs = Rc::new(Term::Input("xs"));
    let scale = call("sum", &[&xs]);
    let first = function(|x| {
        let square = call("mul", &[x, x]);
        call("div", &[&call("add", &[&square, &square]), &scale])
    });
    let second = function(|x| call("mul", &[x, &scale]));
    call("zip", &[&call("map", &[&first, &xs]), &call("map", &[&second, &xs])])
}

fn main() -> Result<(), GraphError> {
    println!("{}", print(&example())?);
    Ok(())
}

#[test]
fn each_term_is_computed_once_and_where_its_parameters_are() {
    assert_eq!(
        print(&example()).unwrap(),
        "let t11 = sum(xs); zip(map(|p6| { div({ let t12 = mul(p6, p6); add(t12, t12) }, t11) }, xs), map(|p8| { mul(p8, t11) }, xs))"
    );
}

#[test]
fn a_chain_of_doublings_stays_small() {
    let mut term = call("one", &[]);
    for _ in 0..60 {
        term = call("add", &[&term, &term]); // written out, 2^60 calls
    }
    assert_eq!(print(&term).unwrap().matches("add").count(), 60);
}

#[test]
fn a_parameter_outside_of_its_function_is_an_error() {
    let mut leaked = None;
    let f = function(|x| {
        leaked = Some(x.clone());
        x.clone()
    });
    let term = call("pair", &[&f, &leaked.unwrap()]);
    assert!(matches!(print(&term), Err(GraphError::Escapes { .. })));
}
