//! Inputs of a program: arrays and parameters by name, generated or from the files of a folder.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail, ensure};
use fusebox::{
    files,
    ir::{Array, Constant, ElementType, Scalar, Value},
};

/// Arrays and parameters by name, as [the protocol](crate::contestant) names them.
#[derive(Clone, Debug, Default)]
pub struct Data {
    params: BTreeMap<String, f64>,
    arrays: BTreeMap<String, Array>,
}

impl Data {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// These inputs and a parameter.
    #[must_use]
    pub fn with_param(mut self, name: &str, value: f64) -> Self {
        self.params.insert(name.into(), value);
        self
    }

    /// These inputs and an array, its elements in row-major order.
    ///
    /// # Panics
    /// If there are not as many elements as the extents say.
    #[must_use]
    pub fn with_array<T: Scalar>(mut self, name: &str, extents: &[usize], elements: &[T]) -> Self {
        let array = Array::new(extents, elements).expect("generated arrays fit in memory and have their extents");
        self.arrays.insert(name.into(), array);
        self
    }

    /// Reads `params.json` and every `NAME.npy` of a folder. Parameters that are no numbers are left out.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("params.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let params: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&text).with_context(|| format!("{} is not a JSON object", path.display()))?;
        let params = params.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
        let mut arrays = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "npy") {
                continue;
            }
            let table = files::read_npy(&path)?;
            let array = table.plain().with_context(|| format!("{}: its elements are no numbers", path.display()))?;
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            arrays.insert(name, array.clone());
        }
        Ok(Self { params, arrays })
    }

    /// Writes what [`Self::read`] reads.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join("params.json");
        std::fs::write(&path, serde_json::to_string(&self.params)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        for (name, array) in &self.arrays {
            files::write_npy(&folder.join(format!("{name}.npy")), array)?;
        }
        Ok(())
    }

    /// A parameter.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn param(&self, name: &str) -> Result<f64> {
        self.params.get(name).copied().with_context(|| format!("there is no parameter `{name}`"))
    }

    /// A parameter that is a size.
    ///
    /// # Errors
    /// If there is none of this name, or it is none.
    pub fn size(&self, name: &str) -> Result<usize> {
        let value = self.param(name)?;
        ensure!(value >= 0.0 && value.fract() == 0.0, "parameter `{name}` is {value}, and should be a size");
        Ok(value as usize)
    }

    /// An array.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn array(&self, name: &str) -> Result<&Array> {
        self.arrays.get(name).with_context(|| format!("there is no input `{name}.npy`"))
    }

    /// The elements of an array, in row-major order.
    ///
    /// # Errors
    /// If there is none of this name, or it is of another element type.
    pub fn slice<T: Scalar>(&self, name: &str) -> Result<&[T]> {
        let array = self.array(name)?;
        array.as_slice().with_context(|| {
            let found = array.element();
            format!("input `{name}` is of {found}, and should be of {}", T::TYPE)
        })
    }

    /// The bytes of all arrays.
    pub fn bytes(&self) -> usize {
        self.arrays.values().map(|array| array.bytes().len()).sum()
    }

    /// An array, or a parameter as a scalar of type `element`.
    ///
    /// # Errors
    /// If there is neither, or the parameter is not of that type.
    pub fn value(&self, name: &str, element: ElementType) -> Result<Value> {
        if let Some(array) = self.arrays.get(name) {
            return Ok(array.clone().into());
        }
        scalar(self.param(name)?, element).with_context(|| format!("parameter `{name}`"))
    }
}

/// A number as a scalar of a program.
pub(crate) fn scalar(value: f64, element: ElementType) -> Result<Value> {
    let whole = |least: f64, greatest: f64| -> Result<i64> {
        ensure!(value.fract() == 0.0 && (least..=greatest).contains(&value), "{value} is no {element}");
        Ok(value as i64)
    };
    let constant: Constant = match element {
        ElementType::F32 => (value as f32).into(),
        ElementType::F64 => value.into(),
        ElementType::I32 => (whole(i32::MIN.into(), i32::MAX.into())? as i32).into(),
        ElementType::I64 => whole(-9e15, 9e15)?.into(),
        other => bail!("programs of the suite have no parameters of {other}"),
    };
    Ok(Array::scalar(constant).into())
}
