//! Expressions as text: parentheses by precedence, and literals without types where parsing finds them.

use super::{super::super::parser::precedence, *};

pub(super) fn render_function_body(body: &Body<'_>, known: &[bool], out: &mut Out) {
    if let ([], [tree]) = (&body.lets[..], &body.results[..]) {
        render(tree, 0, one(known), out);
    } else {
        out.braces(statements(body, known));
    }
}

fn statements(body: &Body<'_>, known: &[bool]) -> Vec<Out> {
    let mut statements = Vec::with_capacity(body.lets.len() + 1);
    for (names, tree) in &body.lets {
        let mut out = Out::new(format!("let {} = ", names.join(", ")));
        render_grouped(tree, false, &vec![false; names.len()], &mut out);
        statements.push(out);
    }
    let mut out = Out::new("return");
    for (position, (tree, known)) in body.results.iter().zip(known).enumerate() {
        out.text(if position == 0 { " " } else { ", " });
        render(tree, 0, *known, &mut out);
    }
    statements.push(out);
    statements
}

/// Of one result; programs that are not valid print too.
fn one(known: &[bool]) -> bool {
    known.first().copied().unwrap_or(false)
}

/// An expression of one or several results.
pub(super) fn render_grouped(tree: &Tree<'_>, parentheses: bool, known: &[bool], out: &mut Out) {
    out.text(if parentheses { "(" } else { "" });
    match tree {
        Tree::Op(node) if known.len() != 1 => render_control(node, known, out),
        _ => render(tree, 0, one(known), out),
    }
    out.text(if parentheses { ")" } else { "" });
}

/// An expression of one result where operators must bind at least as tightly as `level`. `known`: whether what is around tells the
/// type.
fn render(tree: &Tree<'_>, level: u8, known: bool, out: &mut Out) {
    let node = match tree {
        Tree::Constant(constant) => {
            out.text(&if known { bare(*constant) } else { constant.to_string() });
            return;
        }
        Tree::Name(name) => {
            out.text(name);
            return;
        }
        Tree::Op(node) => node,
    };
    let own = match &node.instruction.op {
        ScalarOp::Binary { function, .. } if precedence(*function) > 0 => precedence(*function),
        ScalarOp::If { .. } | ScalarOp::While { .. } => 0,
        _ => u8::MAX,
    };
    let parentheses = own < level;
    out.text(if parentheses { "(" } else { "" });
    render_node(node, known, out);
    out.text(if parentheses { ")" } else { "" });
}

fn render_node(node: &Node<'_>, known: bool, out: &mut Out) {
    let known_inside = known || node.typed;
    let operands = &node.operands;
    let call = |name: &str, known: bool, out: &mut Out| {
        out.text(name);
        out.text("(");
        list(operands, known, out);
        out.text(")");
    };
    match &node.instruction.op {
        ScalarOp::Unary { function: function @ (Unary::Neg | Unary::Not | Unary::Complement), .. } => {
            out.text(function.text());
            // A minus would become part of the literal.
            let literal = *function == Unary::Neg && matches!(operands[0], Tree::Constant(_));
            out.text(if literal { "(" } else { "" });
            render(&operands[0], u8::MAX, known_inside, out);
            out.text(if literal { ")" } else { "" });
        }
        ScalarOp::Unary { function: function @ (Unary::IsNan | Unary::IsInf), .. } => {
            call(function.text(), operands[0].typed(), out);
        }
        ScalarOp::Unary { function, .. } => call(function.text(), known_inside, out),
        ScalarOp::Binary { function, .. } => render_binary(*function, node, known_inside, out),
        ScalarOp::Fma { .. } => call("fma", known_inside, out),
        ScalarOp::Convert { to, .. } => call(to.name(), false, out),
        ScalarOp::Bits { to, .. } => call(&format!("bits_{to}"), false, out),
        ScalarOp::Read { .. } => {
            out.text(&node.array);
            out.text("[");
            list(operands, true, out);
            out.text("]");
        }
        ScalarOp::ReadFlat { .. } => {
            out.text(&node.array);
            out.text(".flat[");
            list(operands, true, out);
            out.text("]");
        }
        ScalarOp::Assert { message, .. } => {
            out.text("assert(");
            render(&operands[0], 0, true, out);
            out.text(&format!(", {}, ", Printer::quoted(message)));
            render(&operands[1], 0, known_inside, out);
            for number in &operands[2..] {
                out.text(", ");
                render(number, 0, true, out);
            }
            out.text(")");
        }
        ScalarOp::If { .. } | ScalarOp::While { .. } => render_control(node, &[known], out),
    }
}

fn render_binary(function: Binary, node: &Node<'_>, known: bool, out: &mut Out) {
    let [left, right] = &node.operands[..] else { return };
    let (known_left, known_right) = if function.is_comparison() {
        let typed = left.typed() || right.typed();
        (typed, typed)
    } else if function.is_shift() {
        // An amount without type takes that of what is shifted.
        let same = right
            .ty()
            .is_none_or(|ty| left.ty().or(node.instruction.results.first().map(|local| local.ty)) == Some(ty));
        (known, right.typed() || same)
    } else {
        (known, known)
    };
    let level = precedence(function);
    if level == 0 {
        out.text(function.text());
        out.text("(");
        render(left, 0, known_left, out);
        out.text(", ");
        render(right, 0, known_right, out);
        out.text(")");
        return;
    }
    render(left, level + u8::from(function.is_comparison()), known_left, out);
    out.text(&format!(" {} ", function.text()));
    render(right, level + 1, known_right, out);
}

fn list(trees: &[Tree<'_>], known: bool, out: &mut Out) {
    for (position, tree) in trees.iter().enumerate() {
        out.text(if position == 0 { "" } else { ", " });
        render(tree, 0, known, out);
    }
}

/// `if` and loops, of any number of results.
fn render_control(node: &Node<'_>, known: &[bool], out: &mut Out) {
    let [first, second] = &node.bodies[..] else { return };
    if let ScalarOp::While { .. } = node.instruction.op {
        out.text("while(");
        for body in [first, second] {
            let params: Vec<_> = body.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
            out.text(&format!("|{}| ", params.join(", ")));
            render_function_body(body, &vec![true; body.results.len()], out);
            out.text(if node.operands.is_empty() { "" } else { ", " });
            out.text(if node.operands.is_empty() && std::ptr::eq(body, first) { ", " } else { "" });
        }
        list(&node.operands, false, out);
        out.text(")");
        return;
    }
    let known: Vec<_> = node.typed_results().iter().zip(known).map(|(typed, known)| *typed || *known).collect();
    out.text("if ");
    render(&node.operands[0], 0, true, out);
    out.text(" ");
    branch(first, &known, out);
    out.text(" else ");
    match second.only_if() {
        Some(inner) => render_control(inner, &known, out),
        None => branch(second, &known, out),
    }
}

fn branch(body: &Body<'_>, known: &[bool], out: &mut Out) {
    match (&body.lets[..], &body.results[..]) {
        ([], [tree]) => {
            let mut inner = Out::default();
            render(tree, 0, one(known), &mut inner);
            out.braces(vec![inner]);
        }
        _ => out.braces(statements(body, known)),
    }
}
