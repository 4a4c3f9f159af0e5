//! Which classes could need one another in a circle.

/// Classes that could need one another in a circle, if forms were chosen so: all those that reach one another over any forms.
pub(crate) fn circles(uses: &[Vec<usize>]) -> Vec<Vec<usize>> {
    // Tarjan's algorithm without recursion, as chains are long: a class whose number is the least that it reaches closes a component.
    let mut found = Vec::new();
    let (mut number, mut least) = (vec![usize::MAX; uses.len()], vec![usize::MAX; uses.len()]);
    let mut open = vec![false; uses.len()];
    let (mut path, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    for root in 0..uses.len() {
        if number[root] != usize::MAX {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((class, at)) = stack.pop() {
            if at == 0 {
                (number[class], least[class], open[class]) = (next, next, true);
                path.push(class);
                next += 1;
            } else if open[uses[class][at - 1]] {
                least[class] = least[class].min(least[uses[class][at - 1]]);
            }
            match uses[class].get(at) {
                Some(&used) if number[used] == usize::MAX => {
                    stack.push((class, at + 1));
                    stack.push((used, 0));
                }
                Some(_) => stack.push((class, at + 1)),
                None if least[class] == number[class] => {
                    let from = path.iter().rposition(|&other| other == class);
                    let component = path.split_off(from.unwrap_or_else(|| panic!("{class} is on the path: {path:?}")));
                    component.iter().for_each(|&member| open[member] = false);
                    if component.len() > 1 || uses[class].contains(&class) {
                        found.push(component);
                    }
                }
                None => {}
            }
        }
    }
    found
}
