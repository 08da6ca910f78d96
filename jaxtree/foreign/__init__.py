"""Models of other libraries: XGBoost, LightGBM, CatBoost and scikit-learn, read and written."""
