//! One level of branches: the node being filled and the full one held back before it.

use crate::Result;
use crate::page::{BRANCH, ELEMENT_BYTES, MAX_ELEMENTS, PAGE_HEADER_BYTES};
use crate::write::sink::PageSink;

/// bbolt asserts this many children when it rebalances.
pub(crate) const MIN_CHILDREN: usize = 2;

#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub key: Vec<u8>,
    pub id: u64,
}

/// A branch in the making.
#[derive(Default)]
pub(crate) struct Node {
    pub children: Vec<Child>,
    data: usize,
}

impl Node {
    pub fn push(&mut self, child: Child) {
        self.data = self.data.saturating_add(child.key.len());
        self.children.push(child);
    }

    fn pop(&mut self) -> Option<Child> {
        let child = self.children.pop()?;
        self.data = self.data.saturating_sub(child.key.len());
        Some(child)
    }

    /// Whether another child must go to the next node. Two children stay together whatever their keys take.
    fn is_full_for(&self, key: &[u8], page_bytes: usize) -> bool {
        let count = self.children.len();
        let size = (PAGE_HEADER_BYTES.saturating_add(ELEMENT_BYTES))
            .saturating_add(count.saturating_mul(ELEMENT_BYTES))
            .saturating_add(self.data)
            .saturating_add(key.len());
        count >= MIN_CHILDREN && (size > page_bytes || count >= MAX_ELEMENTS)
    }

    /// Writes the page; what the level above needs to know comes back.
    pub fn emit(self, sink: &mut PageSink) -> Result<Child> {
        let count = self.children.len();
        let mut elements = Vec::with_capacity(count.saturating_mul(ELEMENT_BYTES));
        let mut data = Vec::with_capacity(self.data);
        let table = count.saturating_mul(ELEMENT_BYTES);
        for child in &self.children {
            let pos = table
                .saturating_add(data.len())
                .saturating_sub(elements.len()) as u32;
            elements.extend_from_slice(&pos.to_le_bytes());
            elements.extend_from_slice(&(child.key.len() as u32).to_le_bytes());
            elements.extend_from_slice(&child.id.to_le_bytes());
            data.extend_from_slice(&child.key);
        }
        let id = sink.page(BRANCH, count, &[&elements, &data])?;
        let key = self
            .children
            .into_iter()
            .next()
            .map(|child| child.key)
            .unwrap_or_default();
        Ok(Child { key, id })
    }
}

/// All branches at one height.
#[derive(Default)]
pub(crate) struct Level {
    pub current: Node,
    held: Option<Node>,
}

impl Level {
    /// Takes a child; returns the node that is now ready to be written.
    pub fn push(&mut self, child: Child, page_bytes: usize) -> Option<Node> {
        let mut ready = None;
        if self.current.is_full_for(&child.key, page_bytes) {
            ready = self.held.replace(std::mem::take(&mut self.current));
        }
        self.current.push(child);
        ready
    }

    /// The last nodes, none with a single child unless it is the only child of the level.
    pub fn finish(self) -> (Option<Node>, Node) {
        let Self { mut current, held } = self;
        let Some(mut held) = held else {
            return (None, current);
        };
        if current.children.len() < MIN_CHILDREN {
            if held.children.len() > MIN_CHILDREN {
                if let Some(borrowed) = held.pop() {
                    let mut refilled = Node::default();
                    refilled.push(borrowed);
                    current
                        .children
                        .into_iter()
                        .for_each(|child| refilled.push(child));
                    current = refilled;
                }
            } else {
                // Two children with keys too long to part: the third joins them in an overflow page.
                current
                    .children
                    .into_iter()
                    .for_each(|child| held.push(child));
                return (None, held);
            }
        }
        (Some(held), current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_nodes(children: usize, page_bytes: usize) -> Vec<usize> {
        let mut level = Level::default();
        let mut sizes = Vec::new();
        for id in 0..children {
            let ready = level.push(
                Child {
                    key: id.to_be_bytes().to_vec(),
                    id: id as u64,
                },
                page_bytes,
            );
            sizes.extend(ready.map(|node| node.children.len()));
        }
        let (held, current) = level.finish();
        sizes.extend(held.map(|node| node.children.len()));
        sizes.push(current.children.len());
        sizes
    }

    #[test]
    fn no_node_has_one_child() {
        // 16 + 24 * n <= 136: five children to a node.
        assert_eq!(last_nodes(5, 136), [5]);
        assert_eq!(last_nodes(6, 136), [4, 2]);
        assert_eq!(last_nodes(11, 136), [5, 4, 2]);
        assert_eq!(last_nodes(12, 136), [5, 5, 2]);
        assert_eq!(last_nodes(3, 20), [3]);
        assert_eq!(last_nodes(5, 20), [2, 3]);
    }
}
